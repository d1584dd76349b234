import { useId, useState } from 'react';
import { Link } from 'wouter';
import { useCatalog } from '../../api/queries';
import type { LaunchableApp } from '../../api/schema';
import { useSession } from '../../session/session';
import { LinkButton, Page, Tag } from '../../ui/basics';
import { Empty, Show } from '../../ui/states';

export default function Catalog() {
  const { project, can } = useSession();
  const catalog = useCatalog(project.id);
  const [search, setSearch] = useState('');
  const id = useId();
  const wanted = search.trim().toLowerCase();
  const fits = (app: LaunchableApp) => `${app.display_name} ${app.slug} ${describe(app)}`.toLowerCase().includes(wanted);
  return (
    <Page title="Catalog" lead={`Apps that ${project.display_name} may launch`}>
      <Show query={catalog} what="the catalog" lines={6} isEmpty={(apps) => apps.length === 0} empty={<NothingHere />}>
        {(apps) => (
          <>
            {apps.length > 4 && (
              <div className="filters">
                <label htmlFor={id}>Search</label>
                <input id={id} type="search" value={search} onChange={(event) => setSearch(event.target.value)} />
              </div>
            )}
            <ul className="tiles">
              {apps.filter(fits).map((app) => (
                <Tile key={app.slug} app={app} mayLaunch={can('apps.instance.create')} />
              ))}
            </ul>
            {!apps.some(fits) && <Empty title="No app fits your search" />}
          </>
        )}
      </Show>
    </Page>
  );
}

/** What the newest version says about itself. */
function describe(app: LaunchableApp): string {
  return app.description ?? app.versions[0]?.notes ?? '';
}

function Tile({ app, mayLaunch }: { app: LaunchableApp; mayLaunch: boolean }) {
  const newest = app.versions[0];
  const preparing = app.preparing;
  return (
    <li className="tile">
      <div className="tile-head">
        <span className="app-mark" aria-hidden="true">
          {app.display_name.slice(0, 1)}
        </span>
        <div>
          <h2>{app.display_name}</h2>
          <p className="muted small">
            {newest ? `Version ${newest.app_version}` : 'No version yet'}
            {newest?.publisher ? ` · ${newest.publisher}` : ''}
          </p>
        </div>
      </div>
      <p className="tile-text">{describe(app)}</p>
      <div className="row wrap">
        {newest?.support_level && <Tag>{newest.support_level}</Tag>}
        {newest && newest.status !== 'active' && <Tag>{newest.status}</Tag>}
      </div>
      {preparing && <Preparing app={app} />}
      <div className="tile-foot">
        {newest && mayLaunch && (
          <LinkButton href={`/launch/${app.slug}`} variant="primary">
            Launch<span className="sr-only"> {app.display_name}</span>
          </LinkButton>
        )}
        {newest && !mayLaunch && <p className="muted small">Your role does not let you launch.</p>}
      </div>
    </li>
  );
}

function Preparing({ app }: { app: LaunchableApp }) {
  const preparing = app.preparing;
  if (!preparing) return null;
  if (preparing.failure) {
    return (
      <p className="field-problem" role="status">
        Preparing it failed: {preparing.failure}
      </p>
    );
  }
  return (
    <div className="progress">
      <label>
        <span className="small">
          Being prepared: {preparing.stage}, {preparing.percent} %
        </span>
        <progress max={100} value={preparing.percent} />
      </label>
    </div>
  );
}

function NothingHere() {
  const { can } = useSession();
  return (
    <Empty title="This project may not launch any app yet">
      {can('apps.entitlements.manage') ? (
        <p>
          You can allow apps under <Link href="/entitlements">Entitlements</Link>.
        </p>
      ) : (
        <p>Ask an admin of your tenant or project to entitle it; they do that under Entitlements.</p>
      )}
    </Empty>
  );
}
