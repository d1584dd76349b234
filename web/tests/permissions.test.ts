import assert from 'node:assert/strict';
import { test } from 'node:test';
import { may } from '../src/session/permissions';

const project = { id: 'p1', tenant_id: 't1' };
const grant = (kind: 'platform' | 'tenant' | 'project', ids: object) => ({
  role: 'r', role_id: 'r', permissions: ['apps.instance.create'], scope: { kind, ...ids },
});

test('a permission counts where its scope reaches', () => {
  const at = (scope: ReturnType<typeof grant>) => may({ grants: [scope] }, 'apps.instance.create', project);
  assert.equal(at(grant('platform', {})), true);
  assert.equal(at(grant('tenant', { tenant_id: 't1' })), true);
  assert.equal(at(grant('tenant', { tenant_id: 't2' })), false);
  assert.equal(at(grant('project', { project_id: 'p1' })), true);
  assert.equal(at(grant('project', { project_id: 'p2' })), false);
});

test('another permission, no project, or nobody means no', () => {
  const grants = [grant('project', { project_id: 'p1' })];
  assert.equal(may({ grants }, 'apps.instance.delete', project), false);
  assert.equal(may({ grants }, 'apps.instance.create'), false);
  assert.equal(may(undefined, 'apps.instance.create', project), false);
});
