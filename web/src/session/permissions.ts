import type { Project, Whoami } from '../api/schema';

/** Whether any of the caller's grants holds this permission at this project, its tenant, or the platform. */
export function may(who: Pick<Whoami, 'grants'> | undefined, permission: string, project?: Pick<Project, 'id' | 'tenant_id'>): boolean {
  return (who?.grants ?? []).some((grant) => grant.permissions.includes(permission) && reaches(grant.scope, project));
}

type Scope = Whoami['grants'][number]['scope'];

function reaches(scope: Scope, project: Pick<Project, 'id' | 'tenant_id'> | undefined): boolean {
  switch (scope.kind) {
    case 'platform':
      return true;
    case 'tenant':
      return project !== undefined && scope.tenant_id === project.tenant_id;
    case 'project':
      return project !== undefined && scope.project_id === project.id;
  }
}
