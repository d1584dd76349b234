-- One text for both databases. Tokens in double braces are replaced by the dialect (see src/dialect.rs); one
-- column per line, because export, import and the parity test read the columns from this file.

CREATE TABLE platform (
  id {{i64}} NOT NULL PRIMARY KEY CHECK (id = 1),
  platform_id {{uuid}} NOT NULL,
  era {{i64}} NOT NULL,
  kek_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL
){{strict}};

CREATE TABLE tenants (
  id {{uuid}} NOT NULL PRIMARY KEY,
  slug {{text}} NOT NULL,
  display_name {{text}} NOT NULL,
  state {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX tenants_slug ON tenants (slug);

CREATE TABLE projects (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  slug {{text}} NOT NULL,
  display_name {{text}} NOT NULL,
  state {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX projects_slug ON projects (slug);
CREATE INDEX projects_tenant ON projects (tenant_id, id);

CREATE TABLE users (
  id {{uuid}} NOT NULL PRIMARY KEY,
  email {{text}},
  display_name {{text}} NOT NULL,
  password_hash {{text}},
  state {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE roles (
  id {{uuid}} NOT NULL PRIMARY KEY,
  slug {{text}} NOT NULL,
  display_name {{text}} NOT NULL,
  permissions {{json}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX roles_slug ON roles (slug);

CREATE TABLE service_accounts (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  name {{text}} NOT NULL,
  kind {{text}} NOT NULL,
  state {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX service_accounts_project ON service_accounts (project_id, id);
CREATE UNIQUE INDEX service_accounts_name ON service_accounts (project_id, name) WHERE state <> 'deleted';

CREATE TABLE service_account_keys (
  id {{uuid}} NOT NULL PRIMARY KEY,
  service_account_id {{uuid}} NOT NULL REFERENCES service_accounts (id),
  public_key {{bytes}} NOT NULL,
  not_after {{ts}},
  created_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX service_account_keys_account ON service_account_keys (service_account_id, id);

-- A role is either built in (fixed id, no row in roles) or custom, so role_id has no foreign key; deleting a
-- custom role that somebody holds is refused in the same transaction.
CREATE TABLE bindings (
  id {{uuid}} NOT NULL PRIMARY KEY,
  role_id {{uuid}} NOT NULL,
  principal_kind {{text}} NOT NULL,
  principal_id {{uuid}} NOT NULL,
  scope_kind {{text}} NOT NULL,
  tenant_id {{uuid}} REFERENCES tenants (id),
  project_id {{uuid}} REFERENCES projects (id),
  created_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX bindings_principal ON bindings (principal_id, id);
CREATE INDEX bindings_role ON bindings (role_id, id);
CREATE INDEX bindings_tenant ON bindings (tenant_id, id);
CREATE INDEX bindings_project ON bindings (project_id, id);
CREATE UNIQUE INDEX bindings_once_platform ON bindings (principal_id, role_id) WHERE scope_kind = 'platform';
CREATE UNIQUE INDEX bindings_once_tenant ON bindings (principal_id, role_id, tenant_id) WHERE scope_kind = 'tenant';
CREATE UNIQUE INDEX bindings_once_project ON bindings (principal_id, role_id, project_id) WHERE scope_kind = 'project';

CREATE TABLE sessions (
  id {{uuid}} NOT NULL PRIMARY KEY,
  user_id {{uuid}} NOT NULL REFERENCES users (id),
  secret_hash {{bytes}} NOT NULL,
  created_at {{ts}} NOT NULL,
  expires_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX sessions_user ON sessions (user_id, id);

CREATE TABLE personal_tokens (
  id {{uuid}} NOT NULL PRIMARY KEY,
  user_id {{uuid}} NOT NULL REFERENCES users (id),
  name {{text}} NOT NULL,
  secret_hash {{bytes}} NOT NULL,
  created_at {{ts}} NOT NULL,
  expires_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX personal_tokens_user ON personal_tokens (user_id, id);

CREATE TABLE login_links (
  id {{uuid}} NOT NULL PRIMARY KEY,
  user_id {{uuid}} NOT NULL REFERENCES users (id),
  secret_hash {{bytes}} NOT NULL,
  expires_at {{ts}} NOT NULL
){{strict}};

-- An assertion's nonce, kept until the assertion would be refused as expired anyway.
CREATE TABLE used_nonces (
  service_account_id {{uuid}} NOT NULL,
  nonce {{text}} NOT NULL,
  expires_at {{ts}} NOT NULL,
  PRIMARY KEY (service_account_id, nonce)
){{strict}};
CREATE INDEX used_nonces_expiry ON used_nonces (expires_at);

-- Sealed values: ciphertext only. class, row, column and tenant are bound into the ciphertext, so a value moved
-- to another place does not open.
CREATE TABLE secrets (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}},
  class {{text}} NOT NULL,
  name {{text}} NOT NULL,
  kek_id {{text}} NOT NULL,
  sealed {{bytes}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX secrets_kek ON secrets (kek_id, id);

-- Keys that sign machine tokens. The public half stays after retirement until no token of it can live.
CREATE TABLE token_keys (
  id {{uuid}} NOT NULL PRIMARY KEY,
  public_key {{bytes}} NOT NULL,
  secret_id {{uuid}} NOT NULL REFERENCES secrets (id),
  created_at {{ts}} NOT NULL,
  retired_at {{ts}}
){{strict}};

CREATE TABLE wraps (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}},
  project_id {{uuid}},
  class {{text}} NOT NULL,
  secret_hash {{bytes}} NOT NULL,
  kek_id {{text}} NOT NULL,
  sealed {{bytes}},
  expires_at {{ts}} NOT NULL,
  opened_at {{ts}},
  version {{i64}} NOT NULL
){{strict}};
CREATE INDEX wraps_kek ON wraps (kek_id, id);

CREATE TABLE limits (
  scope_kind {{text}} NOT NULL,
  scope_id {{uuid}} NOT NULL,
  name {{text}} NOT NULL,
  value {{i64}} NOT NULL,
  updated_at {{ts}} NOT NULL,
  PRIMARY KEY (scope_kind, scope_id, name)
){{strict}};

CREATE TABLE idempotency (
  principal {{text}} NOT NULL,
  route {{text}} NOT NULL,
  idempotency_key {{text}} NOT NULL,
  request_hash {{bytes}} NOT NULL,
  status {{i64}} NOT NULL,
  reply {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  PRIMARY KEY (principal, route, idempotency_key)
){{strict}};
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Work with an owner: claimed for a while, done once, fenced by the epoch.
CREATE TABLE work (
  id {{uuid}} NOT NULL PRIMARY KEY,
  kind {{text}} NOT NULL,
  payload {{json}} NOT NULL,
  correlation_id {{text}} NOT NULL,
  trace_id {{text}} NOT NULL,
  run_at {{ts}} NOT NULL,
  attempts {{i64}} NOT NULL,
  owner {{text}},
  epoch {{i64}} NOT NULL,
  lease_until {{ts}},
  last_error {{text}},
  created_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX work_due ON work (run_at, id);

CREATE TABLE leases (
  name {{text}} NOT NULL PRIMARY KEY,
  owner {{text}} NOT NULL,
  epoch {{i64}} NOT NULL,
  lease_until {{ts}} NOT NULL
){{strict}};

-- What follows only grows.
CREATE TABLE events (
  id {{uuid}} NOT NULL PRIMARY KEY,
  at {{ts}} NOT NULL,
  tenant_id {{uuid}},
  project_id {{uuid}},
  kind {{text}} NOT NULL,
  subject {{text}} NOT NULL,
  actor_kind {{text}} NOT NULL,
  actor_id {{text}} NOT NULL,
  data {{text}} NOT NULL,
  correlation_id {{text}} NOT NULL,
  trace_id {{text}} NOT NULL
){{strict}};

CREATE TABLE audit (
  id {{uuid}} NOT NULL PRIMARY KEY,
  at {{ts}} NOT NULL,
  tenant_id {{uuid}},
  project_id {{uuid}},
  actor_kind {{text}} NOT NULL,
  actor_id {{text}} NOT NULL,
  action {{text}} NOT NULL,
  outcome {{text}} NOT NULL,
  object_kind {{text}} NOT NULL,
  object_id {{text}} NOT NULL,
  before_change {{text}},
  after_change {{text}},
  reason {{text}},
  correlation_id {{text}} NOT NULL,
  trace_id {{text}} NOT NULL
){{strict}};

-- Committed rows without a number yet; filled by the database itself, emptied by the sequencer.
CREATE TABLE unnumbered (
  stream {{text}} NOT NULL,
  row_id {{uuid}} NOT NULL,
  PRIMARY KEY (stream, row_id)
){{strict}};

CREATE TABLE chain (
  stream {{text}} NOT NULL,
  seq {{i64}} NOT NULL,
  row_id {{uuid}} NOT NULL,
  tenant_id {{uuid}},
  project_id {{uuid}},
  hash {{bytes}} NOT NULL,
  PRIMARY KEY (stream, seq)
){{strict}};
CREATE UNIQUE INDEX chain_row ON chain (stream, row_id);
CREATE INDEX chain_tenant ON chain (stream, tenant_id, seq);
CREATE INDEX chain_project ON chain (stream, project_id, seq);

{{insert_only events}}
{{insert_only audit}}
{{insert_only chain}}
{{number_later events}}
{{number_later audit}}
