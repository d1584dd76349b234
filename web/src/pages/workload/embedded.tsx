import { useEffect, useState } from 'react';
import { openEndpoint } from '../../api/endpoints';
import type { EndpointView, InstanceDetail } from '../../api/schema';
import { Button } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Empty, Loading, Problem } from '../../ui/states';
import { openInTab } from './open';

/** The app's own page, in a frame of its own origin. The address is good once, so it is asked for each time. */
export function EmbeddedApp({ instance, endpoint }: { instance: InstanceDetail; endpoint: EndpointView }) {
  const [url, setUrl] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const [asking, setAsking] = useState(false);
  const [full, setFull] = useState(false);
  const running = instance.status === 'running';
  const { project_id, id } = instance;
  useEffect(() => {
    if (!running) return setFull(false);
    let over = false;
    setUrl(null);
    setError(null);
    openEndpoint({ project_id, app_instance_id: id, endpoint: endpoint.name }, endpoint.path)
      .then((address) => !over && setUrl(address))
      .catch((refusal: unknown) => !over && setError(refusal));
    return () => {
      over = true;
    };
  }, [running, project_id, id, endpoint.name, endpoint.path, attempt]);
  useEffect(() => {
    if (!full) return;
    const leave = (event: KeyboardEvent) => {
      // A dialog above it has the first claim on the key.
      if (event.key === 'Escape' && !event.defaultPrevented) setFull(false);
    };
    document.addEventListener('keydown', leave);
    return () => document.removeEventListener('keydown', leave);
  }, [full]);
  if (!running) return <NotRunning instance={instance} />;
  const title = endpoint.title ?? endpoint.name;
  const again = () => setAttempt(attempt + 1);
  return (
    <div className={full ? 'app-panel full' : 'app-panel'}>
      <div className="row end">
        <Button onClick={() => (url === null ? again() : setAsking(true))}>Reload</Button>
        <Button onClick={() => setFull(!full)}>{full ? 'Leave full window' : 'Full window'}</Button>
        <Button onClick={() => void openInTab(instance, endpoint).catch(setError)}>Open in a new tab</Button>
      </div>
      {error !== null && <Problem error={error} title={`${title} could not be opened`} retry={again} />}
      {url === null && error === null && <Loading what={title} lines={6} />}
      {url !== null && (
        <iframe
          className="app-frame"
          src={url}
          title={`${title} of ${instance.name}`}
          sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-downloads allow-modals"
          allow="clipboard-read; clipboard-write; fullscreen"
          referrerPolicy="no-referrer"
        />
      )}
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Reload ${title}?`}
        about="What is not saved in it is lost."
        verb="Reload it"
        act={async () => again()}
      />
    </div>
  );
}

function NotRunning({ instance }: { instance: InstanceDetail }) {
  if (instance.decommissioned_at) return <Empty title="The app has ended" />;
  if (instance.status === 'failed') return <Empty title="The app failed">The overview says why.</Empty>;
  const isEnding = instance.status === 'stopping' || ['stop', 'decommission'].includes(instance.current_operation ?? '');
  if (isEnding) return <Empty title="The app is being ended" />;
  const isStarting = ['created', 'starting'].includes(instance.status) || Boolean(instance.current_operation);
  if (isStarting) return <Empty title="The app is starting">It opens here when it is ready.</Empty>;
  return <Empty title="The app is not running">Start it to open it here.</Empty>;
}
