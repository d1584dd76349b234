/**
 * Every read of the pages. A key starts with its topic (what events make old, see `live/topics.ts`) and then the project.
 */
import { keepPreviousData, type QueryKey, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { Topic } from '../live/topics';
import { call } from './client';
import { ApiError } from './error';
import type { AllocationState, InstanceDetail, Status } from './schema';

export const key = (topic: Topic, ...rest: unknown[]): QueryKey => [topic, ...rest];

const PAGE = 100;
/** What has no event of its own (pull progress, say) is asked for while something is under way. */
const BUSY_MS = 1000;

export function useWhoami(enabled = true) {
  return useQuery({ queryKey: key('whoami'), queryFn: ({ signal }) => call('get', '/api/v1/auth/whoami', { signal }), enabled, staleTime: 60_000 });
}

export function useProjects(enabled: boolean) {
  return useQuery({
    queryKey: key('projects'),
    queryFn: async ({ signal }) => (await call('get', '/api/v1/projects', { query: { limit: 200 }, signal })).items,
    enabled,
    staleTime: 60_000,
  });
}

export interface InstanceFilter {
  status?: Status | undefined;
  app?: string | undefined;
  ended?: boolean | undefined;
}

export function useInstances(project: string, filter: InstanceFilter = {}, enabled = true) {
  return useInfiniteQuery({
    queryKey: key('instances', project, 'list', filter),
    queryFn: ({ signal, pageParam }) =>
      call('get', '/api/v1/projects/{project_id}/app-instances', {
        path: { project_id: project },
        query: { limit: PAGE, ...filter, ...(pageParam ? { cursor: pageParam } : {}) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (last) => last.next_cursor || undefined,
    placeholderData: keepPreviousData,
    enabled,
  });
}

export const isBusy = (instance: Pick<InstanceDetail, 'current_operation' | 'status'>) =>
  Boolean(instance.current_operation) || ['created', 'starting', 'stopping'].includes(instance.status);

/** Looks where the caller is first and then in the other projects: addresses are shared between people. */
export function useInstance(id: string, current: string, others: string[]) {
  return useQuery({
    queryKey: key('instances', current, 'one', id),
    queryFn: async ({ signal }): Promise<InstanceDetail> => {
      const get = (project: string) =>
        call('get', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}', {
          path: { project_id: project, app_instance_id: id },
          signal,
        });
      try {
        return await get(current);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        for (const project of others) {
          const found = await get(project).catch(() => null);
          if (found) return found;
        }
        throw error;
      }
    },
    refetchInterval: (query) => (query.state.data && isBusy(query.state.data) ? BUSY_MS : false),
  });
}

export function useTimeline(project: string, id: string, busy: boolean) {
  return useQuery({
    queryKey: key('instances', project, 'timeline', id),
    queryFn: async ({ signal }) => {
      const entries = [];
      let cursor = '';
      // Bounded: a page of a browser needs no more than this of one story.
      for (let page = 0; page < 5; page += 1) {
        const answer = await call('get', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/events', {
          path: { project_id: project, app_instance_id: id },
          query: { limit: 200, ...(cursor ? { cursor } : {}) },
          signal,
        });
        entries.push(...answer.items);
        cursor = answer.next_cursor ?? '';
        if (!cursor) break;
      }
      return entries;
    },
    refetchInterval: busy ? BUSY_MS : false,
    placeholderData: keepPreviousData,
  });
}

export function useStats(project: string, id: string, enabled: boolean) {
  return useQuery({
    queryKey: key('instances', project, 'stats', id),
    queryFn: ({ signal }) =>
      call('get', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/stats', {
        path: { project_id: project, app_instance_id: id },
        signal,
      }),
    refetchInterval: 2000,
    enabled,
    retry: false,
  });
}

export function useReceipt(project: string, id: string, enabled: boolean) {
  return useQuery({
    queryKey: key('instances', project, 'receipt', id),
    queryFn: ({ signal }) =>
      call('get', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/receipt', {
        path: { project_id: project, app_instance_id: id },
        signal,
      }),
    enabled,
  });
}

export function useCatalog(project: string) {
  return useQuery({
    queryKey: key('catalog', project),
    queryFn: async ({ signal }) =>
      (await call('get', '/api/v1/projects/{project_id}/apps/catalog', { path: { project_id: project }, signal })).items,
    // Preparing moves without an event of the project.
    refetchInterval: (query) => (query.state.data?.some((app) => app.preparing) ? 3000 : false),
  });
}

export function useAllocations(project: string, state?: AllocationState, enabled = true) {
  return useQuery({
    queryKey: key('allocations', project, state ?? 'all'),
    queryFn: async ({ signal }) =>
      (
        await call('get', '/api/v1/projects/{project_id}/allocations', {
          path: { project_id: project },
          query: { limit: 200, ...(state ? { state } : {}) },
          signal,
        })
      ).items,
    refetchInterval: (query) => (query.state.data?.some((one) => one.state === 'releasing') ? 2000 : false),
    enabled,
  });
}

export function useSkus(enabled = true) {
  return useQuery({
    queryKey: key('allocations', 'skus'),
    queryFn: async ({ signal }) => (await call('get', '/api/v1/skus', { query: { limit: 200 }, signal })).items,
    enabled,
  });
}

/** Says that data of these topics is old, after a change made here. */
export function useRefresh() {
  const client = useQueryClient();
  return useCallback(
    (...topics: Topic[]) => Promise.all(topics.map((topic) => client.invalidateQueries({ queryKey: [topic] }))),
    [client],
  );
}
