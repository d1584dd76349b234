/** Which kinds of data an event makes old. Pages name their data by these words; see `api/queries.ts`. */
export type Topic =
  | 'instances'
  | 'allocations'
  | 'catalog'
  | 'entitlements'
  | 'artifacts'
  | 'service-accounts'
  | 'nodes'
  | 'projects'
  | 'whoami'
  | 'form'
  | 'presets'
  | 'audit';

const BY_PREFIX: [string, Topic[]][] = [
  ['apps.instance.', ['instances', 'allocations', 'form']],
  ['apps.entitlement.', ['catalog', 'entitlements', 'form']],
  ['apps.artifact.', ['artifacts', 'form']],
  ['apps.trust_key.', ['artifacts', 'form']],
  ['apps.repository.', ['artifacts']],
  ['apps.', ['catalog', 'entitlements', 'form']],
  ['allocations.', ['allocations', 'form']],
  ['volumes.', ['form']],
  ['launch_presets.', ['presets', 'form']],
  ['skus.', ['allocations', 'form']],
  ['service_accounts.', ['service-accounts']],
  ['nodes.', ['nodes', 'allocations', 'form']],
  ['projects.', ['projects']],
  ['tenants.', ['projects']],
  ['bindings.', ['whoami', 'projects']],
  ['roles.', ['whoami']],
];

export function topicsOf(eventType: string): Topic[] {
  const found = BY_PREFIX.find(([prefix]) => eventType.startsWith(prefix));
  return [...(found?.[1] ?? []), 'audit'];
}
