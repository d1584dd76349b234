import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import { key, useRefresh } from '../../api/queries';
import type { AppForm, Preset, PresetUpdate } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Button, Card, Tag } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { RowMenu } from '../../ui/menu';
import { Problem } from '../../ui/states';
import { Ago } from '../../ui/time';
import { choicesOf } from './preset';

/** The project's presets of one app. */
export function usePresets(slug: string) {
  const { project, can } = useSession();
  return useQuery({
    queryKey: key('presets', project.id, slug),
    queryFn: async ({ signal }) =>
      (await call('get', '/api/v1/projects/{project_id}/launch-presets', { path: { project_id: project.id }, query: { app: slug }, signal })).items,
    enabled: can('apps.instance.read'),
  });
}

interface Props {
  presets: Preset[];
  form: AppForm;
  settled: boolean;
  use: (preset: Preset) => void;
}

/** Choices that somebody of the project kept under a name. */
export function Presets({ presets, form, settled, use }: Props) {
  const { project } = useSession();
  const refresh = useRefresh();
  const [error, setError] = useState<unknown>(null);
  const [replacing, setReplacing] = useState<Preset | null>(null);
  const [deleting, setDeleting] = useState<Preset | null>(null);
  const update = (preset: Preset, body: PresetUpdate) =>
    call('patch', '/api/v1/projects/{project_id}/launch-presets/{preset_id}', {
      path: { project_id: project.id, preset_id: preset.id },
      body,
      version: preset.version,
    });
  const makeDefault = async (preset: Preset, isDefault: boolean) => {
    setError(null);
    try {
      await update(preset, { is_default: isDefault });
      announce(isDefault ? `${preset.name} is the project's default` : `${preset.name} is not the default any more`);
      await refresh('presets', 'form');
    } catch (refusal) {
      setError(refusal);
    }
  };
  return (
    <Card title="Presets">
      {error !== null && <Problem error={error} title="The preset was not changed" />}
      <ul className="rows">
        {presets.map((one) => (
          <li key={one.id} className="row-link">
            <span className="row-main">
              <span className="row">
                <strong>{one.name}</strong>
                {one.is_default && <Tag title="New forms of this app begin with its parameters">default of the project</Tag>}
              </span>
              <span className="muted small">
                changed <Ago at={one.updated_at} />
              </span>
            </span>
            <span className="row">
              <Button onClick={() => use(one)}>
                Use<span className="sr-only"> the preset {one.name}</span>
              </Button>
              <RowMenu
                label={`More for ${one.name}`}
                items={[
                  { text: one.is_default ? 'No default any more' : 'Make it the default', act: () => void makeDefault(one, !one.is_default) },
                  ...(settled ? [{ text: 'Replace by this form', act: () => setReplacing(one) }] : []),
                  { text: 'Delete', act: () => setDeleting(one) },
                ]}
              />
            </span>
          </li>
        ))}
      </ul>
      <Confirm
        open={replacing !== null}
        onClose={() => setReplacing(null)}
        title={`Replace ${replacing?.name ?? ''}?`}
        about="It will hold what this form says now. What it held before is gone, for everybody in the project."
        verb="Replace it"
        act={async () => {
          if (!replacing) return;
          await update(replacing, { choices: choicesOf(form) });
          announce('Replaced');
          await refresh('presets', 'form');
        }}
      />
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={`Delete ${deleting?.name ?? ''}?`}
        about="It is gone for everybody in the project. What was launched with it stays as it is."
        verb="Delete it"
        danger
        act={async () => {
          if (!deleting) return;
          await call('delete', '/api/v1/projects/{project_id}/launch-presets/{preset_id}', { path: { project_id: project.id, preset_id: deleting.id } });
          announce('Deleted');
          await refresh('presets', 'form');
        }}
      />
    </Card>
  );
}

/** Keeps what the form says now under a name. */
export function SavePreset({ form, settled }: { form: AppForm; settled: boolean }) {
  const { project } = useSession();
  const refresh = useRefresh();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button busy={!settled} onClick={() => setAsking(true)}>
        Save as a preset
      </Button>
      {asking && (
        <Ask
          title="Save as a preset"
          about="Everybody in the project can use it. It keeps parameters, add-ons, resources, storage and access; not the name, and not where it runs."
          verb="Save it"
          onClose={() => setAsking(false)}
          act={async (fields) => {
            const name = String(fields.get('name') ?? '').trim();
            const made = await call('post', '/api/v1/projects/{project_id}/launch-presets', {
              path: { project_id: project.id },
              body: { name, app_slug: form.app.slug, choices: choicesOf(form), is_default: fields.get('default') === 'on' },
            });
            announce(`Saved as ${made.name}`);
            await refresh('presets', 'form');
          }}
        >
          {(error) => (
            <>
              <Field label="Name of the preset" hint="Lower-case letters, digits and dashes." problem={fieldProblem(error, '/name')}>
                {(props) => <input {...props} name="name" maxLength={40} spellCheck={false} autoComplete="off" />}
              </Field>
              <label className="check">
                <input type="checkbox" name="default" />
                <span>New forms of this app in this project begin with its parameters</span>
              </label>
            </>
          )}
        </Ask>
      )}
    </>
  );
}
