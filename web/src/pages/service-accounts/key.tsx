import type { ServiceAccountWithKey } from '../../api/schema';
import { CommandLine, Copy, Fact, Facts } from '../../ui/basics';
import { ShownOnce } from '../../ui/secret';

/** Not from the account's name, which may hold anything: it stands in a command. */
const FILE = 'service-account.json';

/** The new key as the file that the command line reads, with the ids that other clients need. */
export function NewKey({ made, onClose }: { made: ServiceAccountWithKey; onClose: () => void }) {
  const content = {
    service_account_id: made.id,
    key_id: made.key.id,
    project_id: made.project_id,
    platform_url: location.origin,
    private_key_pem: made.private_key_pem,
  };
  return (
    <ShownOnce
      title={`The key of ${made.name}`}
      about={`Keep it now as ${FILE}, which only the account's machine can read: it is shown only this once.`}
      secret={JSON.stringify(content, null, 2)}
      onClose={onClose}
    >
      <Facts>
        <Fact name="Account id">
          <code>{made.id}</code> <Copy text={made.id} what="the account's id" />
        </Fact>
        <Fact name="Key id">
          <code>{made.key.id}</code> <Copy text={made.key.id} what="the key's id" />
        </Fact>
      </Facts>
      <p>This gives a token with it:</p>
      <CommandLine command={`chmod 600 ${FILE}\ngpuaas service-account token --key-file ${FILE}`} what="the command for a token" />
      {made.private_key_pem && (
        <details>
          <summary>The private key alone</summary>
          <CommandLine command={made.private_key_pem} what="the private key" />
        </details>
      )}
    </ShownOnce>
  );
}
