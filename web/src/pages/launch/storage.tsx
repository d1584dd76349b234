import { useState } from 'react';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import { useRefresh } from '../../api/queries';
import type { AppForm, FormMount, LaunchRequest, MountChoice, MountSource } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Button, Tag } from '../../ui/basics';
import { Field } from '../../ui/form';
import { plural } from '../../ui/format';
import { typed } from './typed';

interface Props {
  form: AppForm;
  wish: LaunchRequest;
  setWish: (change: (wish: LaunchRequest) => LaunchRequest) => void;
}

const MEANT_FOR: Record<FormMount['kind'], string> = {
  workspace: 'Where you work: files that you make and change.',
  data: 'Data that the app reads or writes.',
  model: 'Models that the app loads.',
};

/** What stands at each place for storage: scratch, or a volume of the project. Paths are the profile's (I-06, I-07). */
export function Storage({ form, wish, setWish }: Props) {
  if (form.mounts.length === 0) return <p className="muted">This app keeps nothing: it has no folders for data.</p>;
  const choose = (mount: string, source: MountSource) => setWish((before) => ({ ...before, mounts: { ...before.mounts, [mount]: source } }));
  return (
    <>
      {form.mounts.map((mount) => (
        <Place key={mount.name} form={form} mount={mount} value={wish.mounts?.[mount.name] ?? mount.value} choose={(source) => choose(mount.name, source)} />
      ))}
    </>
  );
}

const idOf = (source: MountSource) => (source.kind === 'volume' ? source.volume_id : 'scratch');

/** Somebody else writes it, and that is all that speaks against it: it can still be read. */
const readable = (mount: FormMount, choice: MountChoice) =>
  choice.kind === 'volume' && !mount.read_only && choice.reasons.length > 0 && choice.reasons.every((reason) => reason.code === 'volume_in_use');

interface PlaceProps {
  form: AppForm;
  mount: FormMount;
  value: MountSource;
  choose: (source: MountSource) => void;
}

function Place({ form, mount, value, choose }: PlaceProps) {
  const chosen = (choice: MountChoice) => idOf(choice) === idOf(value);
  const offered = mount.choices.filter((one) => one.fits || chosen(one) || readable(mount, one));
  const others = mount.choices.filter((one) => !offered.includes(one));
  const problems = form.errors.filter((one) => one.path === `/mounts/${mount.name}` || one.path.startsWith(`/mounts/${mount.name}/`));
  // What stands at the choice itself is not said twice.
  const told = new Set(mount.choices.filter((one) => chosen(one) && !readable(mount, one)).flatMap((one) => one.reasons.map((reason) => reason.message)));
  return (
    <fieldset>
      <legend>
        {mount.name} <code>{mount.path}</code> {mount.read_only && <Tag>read only</Tag>} {mount.required && <span className="muted small">(required)</span>}
      </legend>
      <p className="hint">{MEANT_FOR[mount.kind]}</p>
      {offered.map((choice) => {
        const onlyRead = readable(mount, choice);
        return (
          <label key={idOf(choice)} className="choice">
            <input
              type="radio"
              name={`mount-${mount.name}`}
              checked={chosen(choice)}
              onChange={() => choose(choice.kind === 'volume' ? { kind: 'volume', volume_id: choice.volume_id, ...(onlyRead ? { read_only: true } : {}) } : { kind: 'scratch' })}
            />
            <span>
              <strong>{choice.title}</strong>
              {choice.kind === 'volume' && <span className="muted small">Stays when the instance ends.</span>}
              {onlyRead && <span className="hint block">Another instance writes to it; here it can be read only.</span>}
              {!onlyRead &&
                choice.reasons.map((reason) => (
                  <span key={reason.code} className="field-problem block">
                    {reason.message}
                  </span>
                ))}
            </span>
          </label>
        );
      })}
      {value.kind === 'volume' && !mount.read_only && (
        <label className="check">
          <input type="checkbox" checked={value.read_only === true} onChange={(event) => choose({ ...value, read_only: event.target.checked })} />
          <span>To read only</span>
        </label>
      )}
      {problems
        .filter((one) => !told.has(one.message))
        .map((one) => (
          <p key={one.code} className="field-problem">
            {one.message}
          </p>
        ))}
      {others.length > 0 && (
        <details>
          <summary>{plural(others.length, 'choice does', 'choices do')} not fit: why?</summary>
          <ul className="reasons">
            {others.map((one) => (
              <li key={idOf(one)}>
                <strong>{one.title}</strong>
                <ul>
                  {one.reasons.map((reason) => (
                    <li key={reason.code}>{reason.message}</li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </details>
      )}
      <NewVolume form={form} mount={mount} choose={choose} />
    </fieldset>
  );
}

const LARGEST_GIB = { least: 1, most: 1_048_576, whole: true };

/** A volume lies on one node; it is made where this launch will be. */
function NewVolume({ form, mount, choose }: Omit<PlaceProps, 'value'>) {
  const { project, can } = useSession();
  const refresh = useRefresh();
  const [asking, setAsking] = useState(false);
  const allocation = form.allocations.find((one) => one.id === form.allocation_id && one.state === 'active');
  const why = !can('volumes.create')
    ? 'Your role does not let you create volumes; ask an admin of the project.'
    : allocation
      ? undefined
      : 'Choose an active allocation first: a volume lies on the node of one.';
  return (
    <div className="row">
      <Button reason={why} onClick={() => setAsking(true)}>
        New volume<span className="sr-only"> for {mount.name}</span>
      </Button>
      {asking && allocation && (
        <Ask
          title="New volume"
          about={`It will lie on ${allocation.node_name ?? 'the node'} of the allocation ${allocation.name}, can be mounted there only, and stays until somebody deletes it.`}
          verb="Create it"
          onClose={() => setAsking(false)}
          act={async (fields) => {
            const size = typed(String(fields.get('size') ?? ''), LARGEST_GIB);
            const made = await call('post', '/api/v1/projects/{project_id}/volumes', {
              path: { project_id: project.id },
              body: { allocation_id: allocation.id, name: String(fields.get('name') ?? ''), ...(size === undefined ? {} : { size_mib: size * 1024 }) },
            });
            announce(`Volume ${made.name} was created and chosen for ${mount.name}`);
            choose({ kind: 'volume', volume_id: made.id });
            await refresh('form');
          }}
        >
          {(error) => (
            <>
              <Field label="Name" hint="Lower-case letters, digits and dashes." problem={fieldProblem(error, '/name')}>
                {(props) => (
                  <input {...props} name="name" maxLength={40} defaultValue={`${form.app.slug}-${mount.name}`.slice(0, 40)} autoComplete="off" spellCheck={false} />
                )}
              </Field>
              <Field label="Size in GiB" hint="What it is meant to hold; nothing enforces it. May stay empty." problem={fieldProblem(error, '/size_mib')}>
                {(props) => <input {...props} name="size" type="number" min={1} step={1} autoComplete="off" />}
              </Field>
            </>
          )}
        </Ask>
      )}
    </div>
  );
}
