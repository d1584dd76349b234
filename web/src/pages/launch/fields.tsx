/** The plain parts of the form: resources, image, access. */
import type { AppForm, FormVariant, LaunchRequest } from '../../api/schema';
import { Short, Tag } from '../../ui/basics';
import { Field } from '../../ui/form';
import { mib } from '../../ui/format';
import { NumberInput } from './number';
import { CPU_MILLIS, GPUS, MEMORY_MIB } from './typed';

interface PartProps {
  form: AppForm;
  wish: LaunchRequest;
  setWish: (wish: LaunchRequest) => void;
}

/** As people type it: whole processors. */
const CPUS = { least: CPU_MILLIS.least / 1000, most: CPU_MILLIS.most / 1000, whole: false };

export function Resources({ form, wish, setWish, at }: PartProps & { at: (path: string) => string | undefined }) {
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
          <NumberInput {...props} min={memory_mib.min} max={memory_mib.max ?? undefined} step={1} limits={MEMORY_MIB}
            value={given.memory_mib ?? memory_mib.value} choose={(value) => set({ memory_mib: value })} />
        )}
      </Field>
    </div>
  );
}

/** Only images that are pinned and verified can be chosen (F-26); the others say why not. */
export function Images({ form, wish, setWish, problem }: PartProps & { problem: string | undefined }) {
  const components = [...new Set(form.variants.map((one) => one.component))];
  return (
    <>
      {components.map((component) => (
        <fieldset key={component}>
          <legend>{components.length === 1 ? 'Image' : `Image of ${component}`}</legend>
          {form.variants
            .filter((one) => one.component === component)
            .map((variant) => (
              <Image key={variant.name ?? variant.digest} variant={variant} title={variant.name ?? (components.length === 1 ? form.app.display_name : component)}
                choose={() => setWish({ ...wish, variant: variant.name ?? undefined })} />
            ))}
        </fieldset>
      ))}
      {problem && <p className="field-problem">{problem}</p>}
    </>
  );
}

function Image({ variant, title, choose }: { variant: FormVariant; title: string; choose: () => void }) {
  const off = !variant.chosen && (!variant.usable || !variant.fits);
  return (
    <label className="choice">
      <input type="radio" name={`variant-${variant.component}`} checked={variant.chosen} disabled={off} onChange={choose} />
      <span>
        <span className="row">
          <strong>{title}</strong>
          {variant.trust && <Tag title={variant.signer ?? undefined}>{variant.trust}</Tag>}
          {variant.accelerators.map((one) => (
            <Tag key={one}>{one}</Tag>
          ))}
        </span>
        <span className="muted small">
          Digest <Short text={variant.digest} what="the digest" />
        </span>
        {variant.notes && <span className="hint block notes">{variant.notes}</span>}
        {variant.reasons.map((reason) => (
          <span key={reason.code} className="hint block">
            {reason.message}
          </span>
        ))}
      </span>
    </label>
  );
}

const MODES: Record<string, string> = {
  private: 'Private: through a tunnel of your own',
  platform_proxy: 'Through the platform, signed in',
  embedded_ui_gateway: 'Here in the browser, through the gateway',
  public: 'Public: can be opened to others later',
};

type Mode = AppForm['access'][number]['value'];

export function AccessModes({ form, choose }: { form: AppForm; choose: (endpoint: string, mode: Mode) => void }) {
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
