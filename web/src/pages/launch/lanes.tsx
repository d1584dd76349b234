import type { AppForm, FormComponent, FormError, FormLane, LaneWish, LaunchRequest, ResourceField } from '../../api/schema';
import { Badge, Simulated } from '../../ui/basics';
import { Field } from '../../ui/form';
import { cpus, mib, words } from '../../ui/format';
import { type Column, Table } from '../../ui/table';
import { NumberInput } from './number';
import { GPUS } from './typed';

interface Props {
  lanes: FormLane[];
  errors: FormError[];
  hindrance: string | undefined;
  wish: LaunchRequest;
  setWish: (change: (wish: LaunchRequest) => LaunchRequest) => void;
}

/**
 * Why lanes go without GPUs: the first thing that stands against the allocation they had, or against the only one there is.
 * Of several that nobody chose none is the one to talk about.
 */
export function laneHindrance(form: AppForm, last: string | null | undefined): string | undefined {
  if (!form.lanes.some((one) => one.runs && one.gpus.length === 0)) return undefined;
  const id = form.allocation_id ?? last;
  const had = form.allocations.find((one) => one.id === id) ?? (form.allocations.length === 1 ? form.allocations[0] : undefined);
  const reason = had?.reasons[0];
  return had && reason && `Allocation ${had.name}: ${reason.message}`;
}

/** Which GPUs each lane works with. How many is a choice within the profile's bounds; which ones, the planner says (U-12). */
export function Lanes({ lanes, errors, hindrance, wish, setWish }: Props) {
  const set = (lane: string, change: LaneWish) => setWish((old) => ({ ...old, lanes: { ...old.lanes, [lane]: { ...old.lanes?.[lane], ...change } } }));
  return (
    <>
      {lanes.map((lane) => {
        const given = wish.lanes?.[lane.name] ?? {};
        const at = (member: string) => errors.filter((one) => one.path === `/lanes/${lane.name}/${member}`).map((one) => one.message).join(' ') || undefined;
        const whole = errors.filter((one) => one.path === `/lanes/${lane.name}` || one.path.startsWith(`/lanes/${lane.name}/slots`));
        return (
          <fieldset key={lane.name}>
            <legend>
              {lane.name} {lane.component !== lane.name && <span className="muted small">for {lane.component}</span>}
            </legend>
            <div className="fields three">
              <Amount label="GPUs" field={lane.gpu_count} given={given.gpu_count} problem={at('gpu_count')} choose={(value) => set(lane.name, { gpu_count: value })} />
              <Amount label="Tensor parallel" field={lane.tensor_parallel} given={given.tensor_parallel} problem={at('tensor_parallel')}
                choose={(value) => set(lane.name, { tensor_parallel: value })} />
            </div>
            {lane.min_gpu_memory_mib != null && <p className="hint">Each GPU needs {mib(lane.min_gpu_memory_mib)} of memory.</p>}
            {lane.gpus.length === 0 ? (
              <p className="muted small">No GPU of the allocation is bound to this lane yet.</p>
            ) : (
              <ul className="plain-list small" aria-label={`GPUs of ${lane.name}`}>
                {lane.gpus.map((gpu) => (
                  <li key={gpu.uuid}>
                    GPU {gpu.slot}: {gpu.model}, {mib(gpu.memory_mib)} <Simulated when={gpu.simulated} />
                  </li>
                ))}
              </ul>
            )}
            {whole.map((one) => (
              <p key={one.path + one.code} className="field-problem">
                {one.message}
              </p>
            ))}
          </fieldset>
        );
      })}
      {hindrance && <p className="field-problem">{hindrance}</p>}
    </>
  );
}

interface AmountProps {
  label: string;
  field: ResourceField;
  given: number | null | undefined;
  problem: string | undefined;
  choose: (value: number | undefined) => void;
}

function Amount({ label, field, given, problem, choose }: AmountProps) {
  const fixed = field.max != null && field.max === field.min;
  const bounds = fixed ? 'Set by the profile' : field.max == null ? `At least ${field.min}` : `${field.min} to ${field.max}`;
  return (
    <Field label={label} hint={bounds} problem={problem}>
      {(props) => (
        <NumberInput {...props} min={field.min} max={field.max ?? undefined} step={1} limits={GPUS} readOnly={fixed} value={given ?? field.value} choose={choose} />
      )}
    </Field>
  );
}

const COLUMNS: Column<FormComponent>[] = [
  {
    title: 'Component',
    cell: (one) => (
      <span>
        <strong>{one.name}</strong>
        {one.replicas > 1 && ` × ${one.replicas}`}
        <span className="muted small block">
          {[words(one.class), one.lane ? `lane ${one.lane}` : '', one.addon ? `of the add-on ${one.addon}` : ''].filter(Boolean).join(' · ')}
        </span>
      </span>
    ),
  },
  { title: 'GPUs', cell: (one) => one.gpu_count },
  { title: 'CPU and memory', cell: (one) => `${cpus(one.cpu_millis)}, ${mib(one.memory_mib)}` },
  {
    title: 'Runs',
    cell: (one) => (
      <span>
        <Badge tone={one.runs ? 'good' : 'neutral'}>{one.runs ? 'runs' : 'does not run'}</Badge>
        {one.why_not && <span className="hint block">{one.why_not}</span>}
      </span>
    ),
  },
];

export function ComponentTable({ components }: { components: FormComponent[] }) {
  return <Table rows={components} columns={COLUMNS} id={(one) => one.name} label="Components" />;
}
