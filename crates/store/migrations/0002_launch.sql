-- Nodes, allocations, the catalog and instances. One column per line, as in 0001.

CREATE TABLE nodes (
  id {{uuid}} NOT NULL PRIMARY KEY,
  name {{text}} NOT NULL,
  standing {{text}} NOT NULL,
  cordoned {{bool}} NOT NULL,
  draining {{bool}} NOT NULL,
  public_key {{bytes}} NOT NULL,
  agent_version {{text}} NOT NULL,
  inventory {{json}} NOT NULL,
  inventory_at {{ts}} NOT NULL,
  agent_connected_at {{ts}},
  last_seen_at {{ts}},
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX nodes_name ON nodes (name) WHERE standing <> 'forgotten';
CREATE UNIQUE INDEX nodes_key ON nodes (public_key);

-- Opened by whoever brings the secret, once. A second call with the same key gets the same node: an answer may be lost.
CREATE TABLE join_tokens (
  id {{uuid}} NOT NULL PRIMARY KEY,
  secret_hash {{bytes}} NOT NULL,
  name {{text}},
  created_by {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  expires_at {{ts}} NOT NULL,
  used_at {{ts}},
  node_id {{uuid}} REFERENCES nodes (id)
){{strict}};

CREATE TABLE node_gpus (
  id {{uuid}} NOT NULL PRIMARY KEY,
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  device_uuid {{text}} NOT NULL,
  device_index {{i64}} NOT NULL,
  vendor {{text}} NOT NULL,
  model {{text}} NOT NULL,
  memory_mib {{i64}} NOT NULL,
  simulated {{bool}} NOT NULL,
  present {{bool}} NOT NULL,
  quarantined_by {{uuid}},
  created_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX node_gpus_device ON node_gpus (node_id, device_uuid);

-- Keys that sign orders to nodes. A retired one is accepted by nodes until accepted_until.
CREATE TABLE task_keys (
  id {{uuid}} NOT NULL PRIMARY KEY,
  public_key {{bytes}} NOT NULL,
  secret_id {{uuid}} NOT NULL REFERENCES secrets (id),
  created_at {{ts}} NOT NULL,
  retired_at {{ts}},
  accepted_until {{ts}}
){{strict}};

CREATE TABLE skus (
  id {{uuid}} NOT NULL PRIMARY KEY,
  slug {{text}} NOT NULL,
  display_name {{text}} NOT NULL,
  shape {{text}} NOT NULL,
  gpu_count {{i64}} NOT NULL,
  gpu_vendor {{text}},
  gpu_model {{text}},
  vcpu {{i64}} NOT NULL,
  memory_mib {{i64}} NOT NULL,
  grant_policy {{text}} NOT NULL,
  retired {{bool}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX skus_slug ON skus (slug);

-- A price never changes; a new one is valid from its own time on.
CREATE TABLE sku_prices (
  id {{uuid}} NOT NULL PRIMARY KEY,
  sku_id {{uuid}} NOT NULL REFERENCES skus (id),
  amount_micros {{i64}} NOT NULL,
  currency {{text}} NOT NULL,
  per_units {{i64}} NOT NULL,
  unit {{text}} NOT NULL,
  valid_from {{ts}} NOT NULL,
  created_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX sku_prices_once ON sku_prices (sku_id, currency, unit, valid_from);
{{insert_only sku_prices}}

CREATE TABLE allocations (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  name {{text}} NOT NULL,
  sku_id {{uuid}} NOT NULL REFERENCES skus (id),
  node_id {{uuid}} REFERENCES nodes (id),
  state {{text}} NOT NULL,
  shape {{text}} NOT NULL,
  gpu_count {{i64}} NOT NULL,
  vcpu {{i64}} NOT NULL,
  memory_mib {{i64}} NOT NULL,
  requested_by_kind {{text}} NOT NULL,
  requested_by_id {{text}} NOT NULL,
  note {{text}},
  requested_at {{ts}} NOT NULL,
  active_at {{ts}},
  releasing_at {{ts}},
  released_at {{ts}},
  version {{i64}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX allocations_project ON allocations (project_id, id);
CREATE INDEX allocations_node ON allocations (node_id, state);
CREATE UNIQUE INDEX allocations_name ON allocations (project_id, name) WHERE state <> 'released';

-- Who holds a device: an allocation, and within it an instance. At most one of each at a time, by the database itself.
CREATE TABLE gpu_holds (
  id {{uuid}} NOT NULL PRIMARY KEY,
  gpu_id {{uuid}} NOT NULL REFERENCES node_gpus (id),
  allocation_id {{uuid}} NOT NULL REFERENCES allocations (id),
  instance_id {{uuid}},
  held_at {{ts}} NOT NULL,
  released_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX gpu_holds_allocation ON gpu_holds (gpu_id) WHERE instance_id IS NULL AND released_at IS NULL;
CREATE UNIQUE INDEX gpu_holds_instance ON gpu_holds (gpu_id) WHERE instance_id IS NOT NULL AND released_at IS NULL;
CREATE INDEX gpu_holds_by_instance ON gpu_holds (instance_id);
CREATE INDEX gpu_holds_by_allocation ON gpu_holds (allocation_id);

CREATE TABLE port_holds (
  id {{uuid}} NOT NULL PRIMARY KEY,
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  port {{i64}} NOT NULL,
  instance_id {{uuid}} NOT NULL,
  held_at {{ts}} NOT NULL,
  released_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX port_holds_once ON port_holds (node_id, port) WHERE released_at IS NULL;
CREATE INDEX port_holds_by_instance ON port_holds (instance_id);

CREATE TABLE compute_holds (
  id {{uuid}} NOT NULL PRIMARY KEY,
  allocation_id {{uuid}} NOT NULL REFERENCES allocations (id),
  instance_id {{uuid}} NOT NULL,
  cpu_millis {{i64}} NOT NULL,
  memory_mib {{i64}} NOT NULL,
  held_at {{ts}} NOT NULL,
  released_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX compute_holds_once ON compute_holds (instance_id) WHERE released_at IS NULL;
CREATE INDEX compute_holds_allocation ON compute_holds (allocation_id);

-- What may be charged later: an allocation from active to released, an instance from running to its end.
CREATE TABLE usage_intervals (
  id {{uuid}} NOT NULL PRIMARY KEY,
  kind {{text}} NOT NULL,
  tenant_id {{uuid}} NOT NULL,
  project_id {{uuid}} NOT NULL,
  allocation_id {{uuid}} NOT NULL REFERENCES allocations (id),
  instance_id {{uuid}},
  generation {{i64}} NOT NULL,
  started_at {{ts}} NOT NULL,
  ended_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX usage_intervals_allocation ON usage_intervals (allocation_id) WHERE instance_id IS NULL AND ended_at IS NULL;
CREATE UNIQUE INDEX usage_intervals_run ON usage_intervals (instance_id) WHERE instance_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX usage_intervals_project ON usage_intervals (project_id, started_at);

CREATE TABLE apps (
  slug {{text}} NOT NULL PRIMARY KEY,
  display_name {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};

CREATE TABLE app_versions (
  id {{uuid}} NOT NULL PRIMARY KEY,
  app_slug {{text}} NOT NULL REFERENCES apps (slug),
  app_version {{text}} NOT NULL,
  manifest {{json}} NOT NULL,
  manifest_digest {{text}} NOT NULL,
  status {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX app_versions_once ON app_versions (app_slug, app_version);

-- The typed projection of the document, for those who query by column.
CREATE TABLE app_manifests (
  slug {{text}} NOT NULL,
  version {{text}} NOT NULL,
  artifact_kind {{text}} NOT NULL,
  artifact_ref {{text}} NOT NULL,
  compatibility {{json}} NOT NULL,
  runtime_profile {{json}},
  ui {{json}},
  metering {{json}},
  status {{text}} NOT NULL,
  PRIMARY KEY (slug, version)
){{strict}};

-- What a tenant may launch, and what a project of it was given or narrowed to.
CREATE TABLE entitlements (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} REFERENCES projects (id),
  app_slug {{text}} NOT NULL REFERENCES apps (slug),
  allowed {{json}},
  narrowed {{json}},
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX entitlements_tenant ON entitlements (tenant_id, app_slug) WHERE project_id IS NULL;
CREATE UNIQUE INDEX entitlements_project ON entitlements (project_id, app_slug) WHERE project_id IS NOT NULL;

CREATE TABLE app_instances (
  id {{uuid}} NOT NULL PRIMARY KEY,
  name {{text}} NOT NULL,
  app_slug {{text}} NOT NULL,
  app_version {{text}} NOT NULL,
  app_version_id {{uuid}} NOT NULL REFERENCES app_versions (id),
  previous_version {{text}},
  artifact_digest {{text}} NOT NULL,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  status {{text}} NOT NULL,
  current_operation {{text}},
  target_allocation_id {{uuid}} NOT NULL REFERENCES allocations (id),
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  operating_mode {{text}} NOT NULL,
  control_plane_scope {{text}} NOT NULL,
  runtime_backend {{text}} NOT NULL,
  tenant_boundary_mode {{text}} NOT NULL,
  execution_engine {{text}} NOT NULL,
  revision_id {{uuid}} NOT NULL,
  desired_generation {{i64}} NOT NULL,
  observed_generation {{i64}} NOT NULL,
  health {{text}} NOT NULL,
  failure_reason {{text}},
  failure_detail {{text}},
  access_epoch {{i64}} NOT NULL,
  requested_by_kind {{text}} NOT NULL,
  requested_by_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  activated_at {{ts}},
  decommissioned_at {{ts}},
  version {{i64}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX app_instances_project ON app_instances (project_id, id);
CREATE INDEX app_instances_node ON app_instances (node_id, id);
CREATE INDEX app_instances_allocation ON app_instances (target_allocation_id, id);
CREATE UNIQUE INDEX app_instances_name ON app_instances (project_id, name) WHERE decommissioned_at IS NULL;

-- What an instance was made of, never changed: a new description is a new revision.
CREATE TABLE app_instance_revisions (
  id {{uuid}} NOT NULL PRIMARY KEY,
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  number {{i64}} NOT NULL,
  app_version_id {{uuid}} NOT NULL,
  renderer_version {{i64}} NOT NULL,
  render_input {{json}} NOT NULL,
  rendered {{text}} NOT NULL,
  rendered_digest {{text}} NOT NULL,
  created_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX app_instance_revisions_number ON app_instance_revisions (instance_id, number);
{{insert_only app_instance_revisions}}

CREATE TABLE app_instance_members (
  id {{uuid}} NOT NULL PRIMARY KEY,
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  allocation_id {{uuid}} NOT NULL REFERENCES allocations (id),
  role {{text}} NOT NULL,
  status {{text}} NOT NULL,
  created_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX app_instance_members_instance ON app_instance_members (instance_id, id);

CREATE TABLE app_instance_components (
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  name {{text}} NOT NULL,
  container_id {{text}},
  running {{bool}} NOT NULL,
  ready {{bool}} NOT NULL,
  restarts {{i64}} NOT NULL,
  exit_code {{i64}},
  started_at {{ts}},
  PRIMARY KEY (instance_id, name)
){{strict}};

CREATE TABLE app_instance_endpoints (
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  component {{text}} NOT NULL,
  name {{text}} NOT NULL,
  container_port {{i64}} NOT NULL,
  expose {{text}} NOT NULL,
  host_port {{i64}},
  PRIMARY KEY (instance_id, component, name)
){{strict}};

-- The timeline of an instance; only grows.
CREATE TABLE app_instance_events (
  id {{uuid}} NOT NULL PRIMARY KEY,
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  event_type {{text}} NOT NULL,
  payload {{json}} NOT NULL,
  occurred_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX app_instance_events_instance ON app_instance_events (instance_id, id);
{{insert_only app_instance_events}}

-- Orders to nodes, unsigned: they are signed each time they are sent. One per instance and generation.
CREATE TABLE node_tasks (
  id {{uuid}} NOT NULL PRIMARY KEY,
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  generation {{i64}} NOT NULL,
  family {{text}} NOT NULL,
  task_order {{text}} NOT NULL,
  state {{text}} NOT NULL,
  attempts {{i64}} NOT NULL,
  next_at {{ts}} NOT NULL,
  sent_at {{ts}},
  last_error {{text}},
  correlation_id {{text}} NOT NULL,
  trace_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  finished_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX node_tasks_generation ON node_tasks (instance_id, generation);
CREATE INDEX node_tasks_due ON node_tasks (state, next_at);

-- The proof that nothing is left, as the node signed it; or the statement that nobody could look.
CREATE TABLE receipts (
  instance_id {{uuid}} NOT NULL PRIMARY KEY REFERENCES app_instances (id),
  node_id {{uuid}} NOT NULL,
  attested {{bool}} NOT NULL,
  payload {{text}} NOT NULL,
  signature {{text}},
  reason {{text}},
  created_at {{ts}} NOT NULL
){{strict}};
{{insert_only receipts}}
