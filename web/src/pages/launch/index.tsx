import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Dispatch, lazy, type SetStateAction, Suspense, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/client';
import { ApiError } from '../../api/error';
import { key } from '../../api/queries';
import type { AppForm, LaunchRequest, Preset } from '../../api/schema';
import { useSession } from '../../session/session';
import { Button, Card, CommandLine, LinkButton, Page } from '../../ui/basics';
import { Field } from '../../ui/form';
import { useSearch } from '../../ui/search';
import { Empty, Loading, Problem, Show } from '../../ui/states';
import { Addons } from './addons';
import { AllocationChoice } from './allocation';
import { AccessModes, Images, Resources } from './fields';
import { FilledNotice, useFilling } from './filled';
import { changedValues, isOfDefaults } from './hints';
import { ComponentTable, laneHindrance, Lanes } from './lanes';
import { readLink } from './link';
import { fillOf } from './preset';
import { Presets, SavePreset, usePresets } from './presets';
import { Review } from './review';
import { ShareLink } from './share';
import { Storage } from './storage';

// The form renderer is the largest part of the shell; apps without parameters do not need it.
const Parameters = lazy(() => import('./parameters'));

const PAUSE_MS = 250;

/** The value after it has not changed for a moment, so that typing does not ask at every key. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export default function Launch({ slug }: { slug: string }) {
  const search = useSearch();
  // Another link is another form to begin with.
  return <LaunchPage key={search} slug={slug} search={search} />;
}

function LaunchPage({ slug, search }: { slug: string; search: string }) {
  const { project, can } = useSession();
  const [link] = useState(() => readLink(search));
  const [wish, setWish] = useState<LaunchRequest>({});
  const asked = useSettled(wish);
  const form = useQuery({
    queryKey: key('form', project.id, slug, asked),
    queryFn: async ({ signal }): Promise<AppForm> =>
      call('post', '/api/v1/projects/{project_id}/apps/{app_slug}/form', { path: { project_id: project.id, app_slug: slug }, body: asked, signal }),
    placeholderData: keepPreviousData,
  });
  const settled = asked === wish && !form.isPlaceholderData;
  const filling = useFilling(link.fill, link.told, form.data, settled, wish, setWish);
  const presets = usePresets(slug);
  const use = (preset: Preset) => {
    setWish((before) => ({ name: before.name, target_allocation_id: before.target_allocation_id, app_version: before.app_version }));
    filling.start(fillOf(preset));
  };
  const missing = form.error instanceof ApiError && form.error.status === 404 && !form.data;
  const title = form.data ? `Launch ${form.data.app.display_name}` : 'Launch';
  return (
    <Page title={title} lead={form.data?.app.description} back={{ href: '/catalog', text: 'Catalog' }}>
      {can('apps.instance.create') ? (
        missing ? (
          <Empty title="There is no such app in this project" action={<LinkButton href="/catalog">Open the catalog</LinkButton>} />
        ) : (
          <Show query={form} what="the launch form" lines={8}>
            {(data) => (
              <>
                <FilledNotice
                  filled={filling.filled}
                  onClear={() => {
                    if (filling.filled.taken.length > 0) setWish({});
                    filling.forget();
                  }}
                />
                <LaunchForm
                  form={data}
                  wish={wish}
                  setWish={setWish}
                  settled={settled && !filling.busy}
                  round={filling.round}
                  presets={presets.data ?? null}
                  usePreset={use}
                />
              </>
            )}
          </Show>
        )
      ) : (
        <Problem error={null} title="Your role does not let you launch apps in this project" />
      )}
    </Page>
  );
}

interface FormProps {
  form: AppForm;
  wish: LaunchRequest;
  setWish: Dispatch<SetStateAction<LaunchRequest>>;
  /** Whether the form answers to exactly this wish. */
  settled: boolean;
  /** Changes when something was filled in from elsewhere. */
  round: number;
  /** Nothing where the platform keeps none. */
  presets: Preset[] | null;
  usePreset: (preset: Preset) => void;
}

function LaunchForm({ form, wish, setWish, settled, round, presets, usePreset }: FormProps) {
  const { can } = useSession();
  const [, navigate] = useLocation();
  const [reviewing, setReviewing] = useState<LaunchRequest | null>(null);
  const [tried, setTried] = useState(false);
  const problems = useRef<HTMLDivElement>(null);
  const touched = new Set(Object.keys(wish.values ?? {}));
  // Where nothing fits any more, the form forgets which allocation it was.
  const [lastAllocation, setLastAllocation] = useState(form.allocation_id);
  if (form.allocation_id && form.allocation_id !== lastAllocation) setLastAllocation(form.allocation_id);
  const at = (path: string) => form.errors.filter((one) => one.path === path).map((one) => one.message).join(' ') || undefined;
  const placed = ['/name', '/target_allocation_id', '/app_version', '/variant', '/resources/gpu_count', '/resources/cpu_millis', '/resources/memory_mib'];
  const elsewhere = form.errors.filter((one) => !placed.includes(one.path) && !one.path.startsWith('/values/'));
  const ofDefaults = form.errors.filter((one) => isOfDefaults(one, wish.values ?? {}));
  const listed = form.errors.filter((one) => tried || elsewhere.includes(one) || placed.includes(one.path) || ofDefaults.includes(one));
  const parameterProblems = form.errors.filter((one) => tried || touched.has(one.path.split('/')[2] ?? '') || ofDefaults.includes(one));

  // A good plan can be looked at also where nothing here runs it yet.
  const reviewable = form.launchable || form.plannable;

  const review = () => {
    setTried(true);
    if (reviewable && settled) setReviewing(form.request);
    else requestAnimationFrame(() => problems.current?.focus());
  };
  const lanes = form.lanes.filter((one) => one.runs);
  const properties = (form.schema.properties as object | undefined) ?? {};
  const hasParameters = Object.keys(properties).length > 0;
  // Set for another version, and without a field in this one: nobody could take it out.
  const strays = Object.keys(wish.values ?? {}).filter((name) => !Object.hasOwn(properties, name) && form.errors.some((one) => one.path === `/values/${name}`));

  return (
    <form
      className="launch"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        review();
      }}
    >
      <div className="stack launch-main">
        {presets && presets.length > 0 && <Presets presets={presets} form={form} settled={settled} use={usePreset} />}
        <Card title="Compute">
          <AllocationChoice form={form} problem={at('/target_allocation_id')} choose={(id) => setWish({ ...wish, target_allocation_id: id })} />
          <Resources form={form} wish={wish} setWish={setWish} at={at} />
        </Card>

        <Card title="App">
          <div className="fields">
            <Field label="Name" hint="Lower-case letters, digits and dashes; made from the app if left empty." problem={at('/name')}>
              {(props) => (
                <input {...props} value={wish.name ?? ''} maxLength={40} placeholder={form.app.slug} autoComplete="off" spellCheck={false}
                  onChange={(event) => setWish({ ...wish, name: event.target.value || undefined })} />
              )}
            </Field>
            <Field label="Version" problem={at('/app_version')}>
              {(props) => (
                <select {...props} value={form.app.version} onChange={(event) => setWish({ ...wish, app_version: event.target.value })}>
                  {form.versions.map((one) => (
                    <option key={one.version} value={one.version}>
                      {one.version}
                      {one.recommended ? ' (recommended)' : one.state !== 'active' ? ` (${one.state})` : ''}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          </div>
          {form.app.notes && <p className="hint notes">{form.app.notes}</p>}
          <Images form={form} wish={wish} setWish={setWish} problem={at('/variant')} />
        </Card>

        {hasParameters && (
          <Card title="Parameters">
            <Suspense fallback={<Loading what="the parameters" />}>
              <Parameters
                key={`${form.app.version} ${round}`}
                schema={form.schema}
                hints={form.ui_schema}
                sources={form.default_sources}
                values={{ ...form.values, ...wish.values }}
                chosen={wish.values ?? {}}
                problems={parameterProblems}
                onChange={(now) => {
                  const shown = { ...form.values, ...wish.values };
                  const values = changedValues(form.schema, shown, now, wish.values ?? {});
                  // The renderer also speaks up when it is shown first.
                  if (JSON.stringify(values) !== JSON.stringify(wish.values ?? {})) setWish({ ...wish, values });
                }}
              />
            </Suspense>
          </Card>
        )}

        {form.addons.length > 0 && (
          <Card title="Add-ons">
            <Addons addons={form.addons} wish={wish} settled={settled} setWish={setWish} />
          </Card>
        )}

        {lanes.length > 1 && (
          <Card title="Lanes">
            <Lanes lanes={lanes} errors={form.errors} hindrance={laneHindrance(form, lastAllocation)} wish={wish} setWish={setWish} />
          </Card>
        )}

        {form.components.length > 1 && (
          <Card title="Components">
            <ComponentTable components={form.components} />
          </Card>
        )}

        <Card title="Storage">
          <Storage form={form} wish={wish} setWish={setWish} />
        </Card>

        <Card title="Access">
          <AccessModes form={form} choose={(endpoint, mode) => setWish({ ...wish, access: { ...wish.access, [endpoint]: mode } })} />
        </Card>
      </div>

      <aside className="launch-side stack" aria-label="Review and launch">
        <Card title="Ready?">
          <div ref={problems} tabIndex={-1} className="stack">
            {!form.launchable && settled && (listed.length > 0 || strays.length === 0) && (
              <div className="notice" role={tried ? 'alert' : undefined}>
                {reviewable ? 'It can be planned, and not be launched here:' : listed.length === 0 ? 'Something is still missing.' : 'Before it can start:'}
                <ul className="plain-list">
                  {listed.map((one) => (
                    <li key={one.path + one.code}>{one.message}</li>
                  ))}
                </ul>
              </div>
            )}
            {settled && strays.length > 0 && (
              <div className="notice">
                <p>
                  Version {form.app.version} has no {strays.length === 1 ? 'parameter' : 'parameters'} {strays.join(', ')}.
                </p>
                <Button
                  onClick={() => setWish({ ...wish, values: Object.fromEntries(Object.entries(wish.values ?? {}).filter(([name]) => !strays.includes(name))) })}
                >
                  Leave {strays.length === 1 ? 'it' : 'them'} out
                </Button>
              </div>
            )}
            {form.launchable && <p className="muted">Nothing starts before you have seen the plan.</p>}
          </div>
          <Button variant="primary" type="submit" busy={!settled}>
            {reviewable && !form.launchable ? 'Review the plan' : 'Review and launch'}
          </Button>
          {can('apps.instance.create') && (
            <details>
              <summary>The same with the command line</summary>
              <CommandLine command={form.command} />
            </details>
          )}
        </Card>
        <Card title="Keep these choices">
          {presets && (
            <div className="row">
              <SavePreset form={form} settled={settled} />
            </div>
          )}
          <ShareLink form={form} wish={wish} settled={settled} />
        </Card>
      </aside>

      {reviewing && (
        <Review
          request={reviewing}
          form={form}
          onClose={() => setReviewing(null)}
          onLaunched={(id) => navigate(`/workloads/instance/${id}`)}
        />
      )}
    </form>
  );
}
