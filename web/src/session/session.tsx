import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { call, onSessionEnd } from '../api/client';
import { ApiError } from '../api/error';
import { useProjects, useWhoami } from '../api/queries';
import type { Project, Whoami } from '../api/schema';
import { Empty, Loading, Problem } from '../ui/states';
import { signInAddress } from './next';
import { may } from './permissions';

interface Session {
  who: Whoami;
  projects: Project[];
  project: Project;
  choose: (id: string) => void;
  /** Whether the caller may do this here; what they may not is hidden or says why. */
  can: (permission: string) => boolean;
  canOnPlatform: (permission: string) => boolean;
  signOut: () => Promise<void>;
  /** Why the last sign-out did not happen. */
  signOutProblem: string | null;
}

const Context = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error('useSession outside of SessionProvider');
  return session;
}

const REMEMBERED = 'gpuaas.project';

function remembered(): string | null {
  try {
    return localStorage.getItem(REMEMBERED);
  } catch {
    return null;
  }
}

function remember(id: string): void {
  try {
    localStorage.setItem(REMEMBERED, id);
  } catch {
    // A browser that keeps nothing only forgets the choice.
  }
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const who = useWhoami();
  const projects = useProjects(who.data !== undefined);
  const [chosen, setChosen] = useState(remembered);
  const [signOutProblem, setSignOutProblem] = useState<string | null>(null);
  const signedIn = who.data !== undefined;

  useEffect(() => {
    onSessionEnd(() => {
      const here = location.pathname + location.search + location.hash;
      if (location.pathname === '/sign-in') return;
      client.clear();
      navigate(signInAddress(here, signedIn ? 'session_expired' : undefined), { replace: true });
    });
    return () => onSessionEnd(() => {});
  }, [client, navigate, signedIn]);

  const choose = useCallback((id: string) => {
    remember(id);
    setChosen(id);
  }, []);

  const signOut = useCallback(async () => {
    try {
      await call('post', '/api/v1/auth/logout');
    } catch (error) {
      // Who has no session is signed out. Anything else must not look like it: the next person at this screen would be you.
      if (!(error instanceof ApiError && error.status === 401)) {
        setSignOutProblem(error instanceof ApiError ? error.message : 'The answer could not be read.');
        return;
      }
    }
    client.clear();
    navigate('/sign-in?problem=signed_out');
  }, [client, navigate]);

  const session = useMemo<Session | null>(() => {
    const list = (projects.data ?? []).filter((one) => one.state !== 'tombstone');
    const project = list.find((one) => one.id === chosen) ?? list[0];
    if (!who.data || !project) return null;
    const caller = who.data;
    return {
      who: caller,
      projects: list,
      project,
      choose,
      can: (permission) => may(caller, permission, project),
      canOnPlatform: (permission) => may(caller, permission),
      signOut,
      signOutProblem,
    };
  }, [who.data, projects.data, chosen, choose, signOut, signOutProblem]);

  if (session) return <Context.Provider value={session}>{children}</Context.Provider>;
  const error = who.error ?? projects.error;
  return (
    <main className="alone">
      <h1 className="sr-only">GPUaaS</h1>
      {error ? (
        <Problem error={error} retry={() => void (who.data ? projects : who).refetch()} title="The platform could not be reached" />
      ) : projects.data ? (
        <Empty
          title="You are not in any project yet"
          action={
            <button type="button" className="button plain" onClick={() => void signOut()}>
              Sign out
            </button>
          }
        >
          <p>
            You are signed in as {who.data?.name}. Ask an admin of your tenant to give you a role in a project; this page then shows what you may
            launch.
          </p>
        </Empty>
      ) : (
        <Loading what="your projects" />
      )}
    </main>
  );
}
