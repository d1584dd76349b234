import * as Tabs from '@radix-ui/react-tabs';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client';
import { key } from '../../api/queries';
import type { ExecutionEngine, InstanceDetail, RenderedView } from '../../api/schema';
import { Badge, Card, Copy, Fact, Facts, Short } from '../../ui/basics';
import { plural, words } from '../../ui/format';
import { Show } from '../../ui/states';

const ENGINES: ExecutionEngine[] = ['node_agent', 'docker_compose', 'kubernetes', 'helm', 'dstack'];

/** The files that engines get, to be read and not to be changed (B-13). */
export function Rendered({ instance }: { instance: InstanceDetail }) {
  const own = instance.execution_engine as ExecutionEngine;
  const engines = [own, ...ENGINES.filter((one) => one !== own)];
  return (
    <Tabs.Root defaultValue={own} className="tabs" activationMode="manual">
      <Tabs.List className="tab-list" aria-label="Engines">
        {engines.map((one) => (
          <Tabs.Trigger key={one} value={one} className="tab">
            {words(one)}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {engines.map((one) => (
        <Tabs.Content key={one} value={one} className="tab-body">
          <Engine instance={instance} engine={one} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

function Engine({ instance, engine }: { instance: InstanceDetail; engine: ExecutionEngine }) {
  const rendered = useQuery({
    queryKey: key('instances', instance.project_id, 'rendered', instance.id, engine, instance.revision_id),
    queryFn: ({ signal }) =>
      call('get', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/rendered', {
        path: { project_id: instance.project_id, app_instance_id: instance.id },
        query: { engine },
        signal,
      }),
    staleTime: 60_000,
  });
  return (
    <Show query={rendered} what="the rendered files" lines={6}>
      {(answer) => <Files answer={answer} />}
    </Show>
  );
}

function Files({ answer }: { answer: RenderedView }) {
  return (
    <>
      <Card title={`What ${words(answer.engine)} gets`}>
        <p className="notice info">Secrets are masked: their values are never in these files. Nothing can be changed here.</p>
        <Facts>
          <Fact name="Digest">
            <Short text={answer.digest} what="the digest" />
          </Fact>
          <Fact name="Renderer">{answer.renderer_version}</Fact>
          <Fact name="Kept">
            {answer.stored ? (
              <Badge tone={answer.verified ? 'good' : 'bad'}>{answer.verified ? 'with the instance, unchanged' : 'with the instance, but its digest differs'}</Badge>
            ) : (
              'made just now, to look at'
            )}
          </Fact>
        </Facts>
        {answer.masked.length > 0 && (
          <details>
            <summary>{plural(answer.masked.length, 'place is', 'places are')} masked</summary>
            <ul className="plain-list">
              {answer.masked.map((pointer) => (
                <li key={pointer}>
                  <code>{pointer}</code>
                </li>
              ))}
            </ul>
          </details>
        )}
        {answer.gaps.length > 0 && (
          <details open>
            <summary>What this engine cannot say</summary>
            <ul className="plain-list">
              {answer.gaps.map((gap) => (
                <li key={gap.path + gap.code}>
                  {gap.message} <code>{gap.path}</code>
                </li>
              ))}
            </ul>
          </details>
        )}
      </Card>
      {answer.files.map((file) => (
        <Card key={file.name} title={file.name} actions={<Copy text={file.bytes} what={file.name} />}>
          <pre className="file" tabIndex={0} role="region" aria-label={`Contents of ${file.name}`}>
            {file.bytes}
          </pre>
        </Card>
      ))}
    </>
  );
}
