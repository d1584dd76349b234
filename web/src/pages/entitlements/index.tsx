import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { key, useRefresh } from '../../api/queries';
import type { Entitlement, Terms } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Badge, Button, Page, Tag } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Empty, Show } from '../../ui/states';
import { Table } from '../../ui/table';

interface Row {
  slug: string;
  name: string;
  entitlement: Entitlement | undefined;
}

/** Which apps the project may launch. The list of apps is the platform's whole one; only here is it not filtered (E-03). */
export default function Entitlements() {
  const { project, can } = useSession();
  const refresh = useRefresh();
  const [asking, setAsking] = useState<{ row: Row; enable: boolean } | null>(null);
  const path = { project_id: project.id };
  const rows = useQuery({
    queryKey: key('entitlements', project.id),
    queryFn: async ({ signal }): Promise<Row[]> => {
      const [apps, given] = await Promise.all([
        call('get', '/api/v1/apps/catalog', { query: { limit: 200 }, signal }),
        call('get', '/api/v1/projects/{project_id}/apps/entitlements', { path, signal }),
      ]);
      return apps.items.map((app) => ({ slug: app.slug, name: app.display_name, entitlement: given.items.find((one) => one.app_slug === app.slug) }));
    },
  });
  const mayManage = can('apps.entitlements.manage');
  return (
    <Page title="Entitlements" lead={`What ${project.display_name} may launch`}>
      <Show query={rows} what="entitlements" isEmpty={(list) => list.length === 0} empty={<Empty title="The platform has no apps yet">An app team has to publish one first.</Empty>}>
        {(list) => (
          <Table
            label="Entitlements"
            rows={list}
            id={(one) => one.slug}
            columns={[
              {
                title: 'App',
                cell: (one: Row) => (
                  <span>
                    <strong>{one.name}</strong> <span className="muted small">{one.slug}</span>
                  </span>
                ),
              },
              { title: 'This project', cell: (one) => (one.entitlement?.enabled ? <Badge tone="good">may launch</Badge> : <Badge>may not launch</Badge>) },
              { title: 'By the tenant', cell: (one) => terms(one.entitlement?.tenant) },
              { title: 'By the platform or project', cell: (one) => terms(one.entitlement?.narrowed ?? one.entitlement?.allowed) },
              {
                title: 'Actions',
                quiet: true,
                cell: (one) =>
                  mayManage ? (
                    <div className="row">
                      <Button variant="quiet" onClick={() => setAsking({ row: one, enable: !one.entitlement?.enabled })}>
                        {one.entitlement?.enabled ? 'Disallow' : 'Allow'}
                        <span className="sr-only"> {one.name}</span>
                      </Button>
                    </div>
                  ) : null,
              },
            ]}
          />
        )}
      </Show>
      {!mayManage && <p className="muted small">Your role lets you look; an admin of the tenant or project can change this.</p>}
      <Confirm
        open={asking !== null}
        onClose={() => setAsking(null)}
        title={asking ? `${asking.enable ? 'Allow' : 'Disallow'} ${asking.row.name}?` : ''}
        about={asking?.enable ? 'People of this project see it in their catalog and may launch it.' : 'It leaves the catalog of this project. What runs goes on running.'}
        verb={asking?.enable ? 'Allow it' : 'Disallow it'}
        danger={asking?.enable === false}
        act={async () => {
          if (!asking) return;
          const old = asking.row.entitlement?.narrowed ?? asking.row.entitlement?.allowed;
          await call('put', '/api/v1/projects/{project_id}/apps/entitlements/{app_slug}', {
            path: { ...path, app_slug: asking.row.slug },
            body: { ...old, enabled: asking.enable },
          });
          announce(`${asking.row.name}: ${asking.enable ? 'allowed' : 'not allowed any more'}`);
          await refresh('entitlements', 'catalog');
        }}
      />
    </Page>
  );
}

function terms(value: Terms | null | undefined) {
  if (!value) return <span className="muted">nothing said</span>;
  return (
    <span className="row">
      {value.enabled ? 'allowed' : 'not allowed'}
      {(value.channels ?? []).map((one) => (
        <Tag key={one}>{one}</Tag>
      ))}
      {(value.versions ?? []).map((one) => (
        <Tag key={one}>{one}</Tag>
      ))}
    </span>
  );
}
