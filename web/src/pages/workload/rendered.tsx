import * as Tabs from '@radix-ui/react-tabs';
import { useQuery } from '@tanstack/react-query';
import { getRendered, type Rendered as Answer } from '../../api/coming';
import { key } from '../../api/queries';
import type { InstanceDetail } from '../../api/schema';
import { useSession } from '../../session/session';
import { Badge, Card, Copy, Fact, Facts, Short } from '../../ui/basics';
import { plural, words } from '../../ui/format';
import { Empty, Show } from '../../ui/states';

const ENGINES = ['node_agent', 'docker_compose', 'kubernetes', 'helm', 'dstack'];

/** What an engine is given for an instance; `null` where the caller may not see it, or there is nothing of the kind. */
export function useRendered(instance: InstanceDetail, engine: string) {
  const { can } = useSession();
  return useQuery({
    queryKey: key('instances', instance.project_id, 'rendered', instance.id, engine, instance.revision_id),
    queryFn: ({ signal }) => getRendered(instance.project_id, instance.id, engine, signal),
    enabled: can('apps.instance.inspect'),
    staleTime: 60_000,
  });
}

/** The files that engines get, to be read and not to be changed (B-13). */
export function Rendered({ instance }: { instance: InstanceDetail }) {
  const own = instance.execution_engine;
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

function Engine({ instance, engine }: { instance: InstanceDetail; engine: string }) {
  const rendered = useRendered(instance, engine);
  return (
    <Show query={rendered} what="the rendered files" lines={6} isEmpty={(answer) => answer === null} empty={<Empty title={`There is nothing rendered for ${words(engine)}`} />}>
      {(answer) => answer && <Files answer={answer} />}
    </Show>
  );
}

function Files({ answer }: { answer: Answer }) {
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
          <pre className="file" tabIndex={0} aria-label={file.name}>
            {file.bytes}
          </pre>
        </Card>
      ))}
    </>
  );
}
