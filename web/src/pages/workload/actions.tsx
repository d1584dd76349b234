import { useEffect, useRef, useState } from 'react';
import { call } from '../../api/client';
import { useRefresh } from '../../api/queries';
import type { InstanceDetail } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Button } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { focusHeading } from '../../ui/focus';
import { Field } from '../../ui/form';

type Verb = 'stop' | 'start' | 'decommission' | 'force';

/** What can be done with it now, by permission; what ends something asks first. */
export function Actions({ instance }: { instance: InstanceDetail }) {
  const { can } = useSession();
  const refresh = useRefresh();
  const [asking, setAsking] = useState<Verb | null>(null);
  const [reason, setReason] = useState('');
  const path = { project_id: instance.project_id, app_instance_id: instance.id };
  const version = instance.version;
  // The button that was used goes with the state it was for.
  const used = useRef(false);
  useEffect(() => {
    if (used.current && document.activeElement === document.body) focusHeading();
  }, [instance.status, instance.current_operation, instance.decommissioned_at]);
  if (instance.decommissioned_at) return null;
  const close = () => setAsking(null);
  const after = async (sentence: string) => {
    used.current = true;
    announce(sentence);
    await refresh('instances');
  };
  const mayEnd = can('apps.instance.delete');
  const mayStart = can('apps.instance.create');
  const removing = instance.current_operation === 'decommission';
  const isUp = ['created', 'starting', 'running'].includes(instance.status);
  return (
    <>
      {isUp && mayEnd && !removing && <Button onClick={() => setAsking('stop')}>Stop</Button>}
      {instance.status === 'stopped' && mayStart && !removing && <Button onClick={() => setAsking('start')}>Start</Button>}
      {mayEnd && (
        <Button variant="danger" reason={removing ? 'It is being removed.' : undefined} onClick={() => setAsking('decommission')}>
          Decommission
        </Button>
      )}
      {removing && can('apps.instance.force') && <Button onClick={() => setAsking('force')}>Node is gone…</Button>}
      <Confirm
        open={asking === 'stop'}
        onClose={close}
        title={`Stop ${instance.name}?`}
        about="Its processes end; its scratch folders are kept. GPUs and memory go back to the allocation. It can be started again."
        verb="Stop it"
        act={async () => {
          await call('post', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/stop', { path, body: {} });
          await after(`${instance.name} is being stopped`);
        }}
      />
      <Confirm
        open={asking === 'start'}
        onClose={close}
        title={`Start ${instance.name}?`}
        about="It starts again from the same version and image, if its allocation still has room."
        verb="Start it"
        act={async () => {
          await call('post', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/start', { path, body: {} });
          await after(`${instance.name} is being started`);
        }}
      />
      <Confirm
        open={asking === 'decommission'}
        onClose={close}
        title={`Decommission ${instance.name}?`}
        about="It ends for good. Everything of it is removed from the node, scratch data included, and the node signs a receipt that nothing is left."
        verb="Decommission it"
        danger
        act={async () => {
          await call('post', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/decommission', { path, body: {} });
          await after(`${instance.name} is being removed`);
        }}
      />
      <Confirm
        open={asking === 'force'}
        onClose={close}
        title={`End ${instance.name} without its node?`}
        about="Only if the node is gone for good: nobody attests that nothing is left, and its devices stay blocked until the node comes back or is forgotten."
        verb="End it"
        danger
        act={async () => {
          await call('post', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/force-decommission', { path, body: { reason }, version });
          await after(`${instance.name} was ended without its node`);
        }}
      >
        <Field label="Why nobody can ask the node">
          {(props) => <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />}
        </Field>
      </Confirm>
    </>
  );
}
