-- Endpoints that are reached through the gateway, what opens them, and what passed. One column per line, as in 0001.

-- A label is an origin in people's browsers: it is random, and no other endpoint ever gets it.
CREATE TABLE endpoint_routes (
  label {{text}} NOT NULL PRIMARY KEY,
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  component {{text}} NOT NULL,
  name {{text}} NOT NULL,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  mode {{text}} NOT NULL,
  public_access {{text}} NOT NULL,
  active_revision {{uuid}} NOT NULL,
  policy {{json}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX endpoint_routes_endpoint ON endpoint_routes (instance_id, component, name);

-- Exchanged once for a session at the endpoint's own origin.
CREATE TABLE access_codes (
  id {{uuid}} NOT NULL PRIMARY KEY,
  secret_hash {{bytes}} NOT NULL,
  label {{text}} NOT NULL REFERENCES endpoint_routes (label),
  user_id {{uuid}} NOT NULL REFERENCES users (id),
  session_id {{uuid}},
  personal_token_id {{uuid}},
  access_epoch {{i64}} NOT NULL,
  expires_at {{ts}} NOT NULL
){{strict}};

-- A person's session with one endpoint. It ends with what it came from: the browser session or the personal token.
CREATE TABLE app_sessions (
  id {{uuid}} NOT NULL PRIMARY KEY,
  secret_hash {{bytes}} NOT NULL,
  label {{text}} NOT NULL REFERENCES endpoint_routes (label),
  user_id {{uuid}} NOT NULL REFERENCES users (id),
  session_id {{uuid}},
  personal_token_id {{uuid}},
  access_epoch {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  expires_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX app_sessions_user ON app_sessions (user_id);

-- What a program opens one endpoint with.
CREATE TABLE endpoint_tokens (
  id {{uuid}} NOT NULL PRIMARY KEY,
  secret_hash {{bytes}} NOT NULL,
  label {{text}} NOT NULL REFERENCES endpoint_routes (label),
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  name {{text}} NOT NULL,
  created_by_kind {{text}} NOT NULL,
  created_by_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  expires_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX endpoint_tokens_label ON endpoint_tokens (label, id);

-- What passed through the gateway, by the hour.
CREATE TABLE endpoint_traffic (
  label {{text}} NOT NULL REFERENCES endpoint_routes (label),
  hour {{ts}} NOT NULL,
  requests {{i64}} NOT NULL,
  bytes_in {{i64}} NOT NULL,
  bytes_out {{i64}} NOT NULL,
  sessions {{i64}} NOT NULL,
  PRIMARY KEY (label, hour)
){{strict}};
