import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/client';
import { ApiError } from '../../api/error';
import { key } from '../../api/queries';
import type { AppForm, LaunchRequest } from '../../api/schema';
import { useSession } from '../../session/session';
import { Button, Card, CommandLine, LinkButton, Page, Short, Tag } from '../../ui/basics';
import { Field } from '../../ui/form';
import { mib } from '../../ui/format';
import { Empty, Loading, Problem, Show } from '../../ui/states';
import { AllocationChoice } from './allocation';
import { changedValues } from './hints';
import { NumberInput } from './number';
import { Review } from './review';

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
  const { project, can } = useSession();
  const [wish, setWish] = useState<LaunchRequest>({});
  const asked = useSettled(wish);
  const form = useQuery({
    queryKey: key('form', project.id, slug, asked),
    queryFn: ({ signal }) =>
      call('post', '/api/v1/projects/{project_id}/apps/{app_slug}/form', { path: { project_id: project.id, app_slug: slug }, body: asked, signal }),
    placeholderData: keepPreviousData,
  });
  const settled = asked === wish && !form.isPlaceholderData;
  const missing = form.error instanceof ApiError && form.error.status === 404 && !form.data;
  const title = form.data ? `Launch ${form.data.app.display_name}` : 'Launch';
  return (
    <Page title={title} lead={form.data?.app.description} back={{ href: '/catalog', text: 'Catalog' }}>
      {can('apps.instance.create') ? (
        missing ? (
          <Empty title="There is no such app in this project" action={<LinkButton href="/catalog">Open the catalog</LinkButton>} />
        ) : (
          <Show query={form} what="the launch form" lines={8}>
            {(data) => <LaunchForm form={data} wish={wish} setWish={setWish} settled={settled} />}
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
  setWish: (wish: LaunchRequest) => void;
  /** Whether the form answers to exactly this wish. */
  settled: boolean;
}

function LaunchForm({ form, wish, setWish, settled }: FormProps) {
  const { can } = useSession();
  const [, navigate] = useLocation();
  const [reviewing, setReviewing] = useState<LaunchRequest | null>(null);
  const [tried, setTried] = useState(false);
  const problems = useRef<HTMLDivElement>(null);
  const touched = new Set(Object.keys(wish.values ?? {}));
  const at = (path: string) => form.errors.filter((one) => one.path === path).map((one) => one.message).join(' ') || undefined;
  const placed = ['/name', '/target_allocation_id', '/app_version', '/variant', '/resources/gpu_count', '/resources/cpu_millis', '/resources/memory_mib'];
  const elsewhere = form.errors.filter((one) => !placed.includes(one.path) && !one.path.startsWith('/values/'));
  const parameterProblems = form.errors.filter((one) => tried || touched.has(one.path.split('/')[2] ?? ''));

  const review = () => {
    setTried(true);
    if (form.launchable && settled) setReviewing(form.request);
    else requestAnimationFrame(() => problems.current?.focus());
  };
  const hasParameters = Object.keys((form.schema.properties as object | undefined) ?? {}).length > 0;

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
          <Images form={form} wish={wish} setWish={setWish} problem={at('/variant')} />
        </Card>

        {hasParameters && (
          <Card title="Parameters">
            <Suspense fallback={<Loading what="the parameters" />}>
              <Parameters
                key={form.app.version}
                schema={form.schema}
                hints={form.ui_schema}
                values={{ ...form.values, ...wish.values }}
                problems={parameterProblems}
                onChange={(now) => {
                  const shown = { ...form.values, ...wish.values };
                  setWish({ ...wish, values: changedValues(form.schema, shown, now, wish.values ?? {}) });
                }}
              />
            </Suspense>
          </Card>
        )}

        <Card title="Storage">
          {form.mounts.length === 0 ? (
            <p className="muted">This app keeps nothing: it has no folders for data.</p>
          ) : (
            form.mounts.map((mount) => (
              <fieldset key={mount.name}>
                <legend>
                  {mount.name} <code>{mount.path}</code>
                </legend>
                {mount.choices.map((choice) => (
                  <label key={choice.kind} className="check">
                    <input type="radio" name={`mount-${mount.name}`} defaultChecked={choice.kind === mount.value.kind} />
                    <span>{choice.title}</span>
                  </label>
                ))}
              </fieldset>
            ))
          )}
        </Card>

        <Card title="Access">
          <AccessModes form={form} choose={(endpoint, mode) => setWish({ ...wish, access: { ...wish.access, [endpoint]: mode } })} />
        </Card>
      </div>

      <aside className="launch-side" aria-label="Review and launch">
        <Card title="Ready?">
          <div ref={problems} tabIndex={-1} className="stack">
            {!form.launchable && settled && (
              <div className="notice" role={tried ? 'alert' : undefined}>
                {form.errors.length === 0 ? 'Something is still missing.' : 'Before it can start:'}
                <ul className="plain-list">
                  {form.errors
                    .filter((one) => tried || elsewhere.includes(one) || placed.includes(one.path))
                    .map((one) => (
                      <li key={one.path + one.code}>{one.message}</li>
                    ))}
                </ul>
              </div>
            )}
            {form.launchable && <p className="muted">Nothing starts before you have seen the plan.</p>}
          </div>
          <Button variant="primary" type="submit" busy={!settled}>
            Review and launch
          </Button>
          {can('apps.instance.create') && (
            <details>
              <summary>The same with the command line</summary>
              <CommandLine command={form.command} />
            </details>
          )}
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

interface PartProps {
  form: AppForm;
  wish: LaunchRequest;
  setWish: (wish: LaunchRequest) => void;
}

const GPUS = { least: 0, most: 64, whole: true };
const CPUS = { least: 0.001, most: 4096, whole: false };
const MEMORY = { least: 6, most: 67_108_864, whole: true };

function Resources({ form, wish, setWish, at }: PartProps & { at: (path: string) => string | undefined }) {
  const { gpu_count, cpu_millis, memory_mib } = form.resources;
  const given = wish.resources ?? {};
  const set = (change: NonNullable<LaunchRequest['resources']>) => setWish({ ...wish, resources: { ...given, ...change } });
  const bounds = (field: { min: number; max?: number | null }, unit: (value: number) => string) =>
    field.max == null ? `At least ${unit(field.min)}` : `${unit(field.min)} to ${unit(field.max)}`;
  return (
    <div className="fields three">
      {gpu_count.max !== 0 && (
        <Field label="GPUs" hint={bounds(gpu_count, String)} problem={at('/resources/gpu_count')}>
          {(props) => (
            <NumberInput {...props} min={gpu_count.min} max={gpu_count.max ?? undefined} step={1} limits={GPUS}
              value={given.gpu_count ?? gpu_count.value} choose={(value) => set({ gpu_count: value })} />
          )}
        </Field>
      )}
      <Field label="vCPU" hint={bounds(cpu_millis, (value) => String(value / 1000))} problem={at('/resources/cpu_millis')}>
        {(props) => (
          <NumberInput {...props} min={cpu_millis.min / 1000} max={cpu_millis.max == null ? undefined : cpu_millis.max / 1000} step={0.05} limits={CPUS}
            value={(given.cpu_millis ?? cpu_millis.value) / 1000}
            choose={(value) => set({ cpu_millis: value === undefined ? undefined : Math.round(value * 1000) })} />
        )}
      </Field>
      <Field label="Memory (MiB)" hint={bounds(memory_mib, mib)} problem={at('/resources/memory_mib')}>
        {(props) => (
          <NumberInput {...props} min={memory_mib.min} max={memory_mib.max ?? undefined} step={1} limits={MEMORY}
            value={given.memory_mib ?? memory_mib.value} choose={(value) => set({ memory_mib: value })} />
        )}
      </Field>
    </div>
  );
}

/** Only images that are pinned and verified can be chosen (F-26); the others say why not. */
function Images({ form, wish, setWish, problem }: PartProps & { problem: string | undefined }) {
  return (
    <fieldset>
      <legend>Image</legend>
      {form.variants.map((variant) => {
        const off = !variant.usable || !variant.fits;
        return (
          <label key={variant.component + (variant.name ?? variant.digest)} className="choice">
            <input
              type="radio"
              name={`variant-${variant.component}`}
              checked={variant.chosen}
              disabled={off}
              onChange={() => setWish({ ...wish, variant: variant.name ?? undefined })}
            />
            <span>
              <span className="row">
                <strong>{variant.name ?? form.app.display_name}</strong>
                {variant.trust && <Tag title={variant.signer ?? undefined}>{variant.trust}</Tag>}
                {variant.accelerators.map((one) => (
                  <Tag key={one}>{one}</Tag>
                ))}
              </span>
              <span className="muted small">
                Digest <Short text={variant.digest} what="the digest" />
              </span>
              {variant.reasons.map((reason) => (
                <span key={reason.code} className="hint block">
                  {reason.message}
                </span>
              ))}
            </span>
          </label>
        );
      })}
      {problem && <p className="field-problem">{problem}</p>}
    </fieldset>
  );
}

const MODES: Record<string, string> = {
  private: 'Private: through a tunnel of your own',
  platform_proxy: 'Through the platform, signed in',
  embedded_ui_gateway: 'Here in the browser, through the gateway',
  public: 'Public: can be opened to others later',
};

type Mode = AppForm['access'][number]['value'];

function AccessModes({ form, choose }: { form: AppForm; choose: (endpoint: string, mode: Mode) => void }) {
  if (form.access.length === 0) return <p className="muted">This app has no port to open.</p>;
  return (
    <>
      {form.access.map((one) => (
        <fieldset key={one.component + one.endpoint}>
          <legend>
            {one.title ?? one.endpoint} <span className="muted small">port {one.port}</span>
          </legend>
          {one.modes.map((mode) => (
            <label key={mode.mode} className="check">
              <input type="radio" name={`access-${one.component}-${one.endpoint}`} checked={mode.mode === one.value} disabled={!mode.allowed}
                onChange={() => choose(one.endpoint, mode.mode)} />
              <span>
                {MODES[mode.mode] ?? mode.mode}
                {mode.reason && <span className="hint block">{mode.reason}</span>}
              </span>
            </label>
          ))}
        </fieldset>
      ))}
    </>
  );
}
