-- Storage of projects on nodes. One column per line, as in 0001.

CREATE TABLE volumes (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  name {{text}} NOT NULL,
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  size_mib {{i64}},
  state {{text}} NOT NULL,
  problem {{text}},
  created_by_kind {{text}} NOT NULL,
  created_by_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  deleting_at {{ts}},
  ended_at {{ts}},
  receipt_payload {{text}},
  receipt_signature {{text}},
  version {{i64}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX volumes_project ON volumes (project_id, id);
CREATE INDEX volumes_node ON volumes (node_id, state);
CREATE UNIQUE INDEX volumes_name ON volumes (project_id, name) WHERE state <> 'deleted';

-- Who holds a volume: from the launch of an instance to the proof that its containers are gone. One writer at a time, by
-- the database itself; readers beside it are as many as want to.
CREATE TABLE volume_attachments (
  id {{uuid}} NOT NULL PRIMARY KEY,
  volume_id {{uuid}} NOT NULL REFERENCES volumes (id),
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  revision_id {{uuid}} NOT NULL,
  mount {{text}} NOT NULL,
  read_only {{bool}} NOT NULL,
  held_at {{ts}} NOT NULL,
  released_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX volume_attachments_writer ON volume_attachments (volume_id) WHERE NOT read_only AND released_at IS NULL;
CREATE UNIQUE INDEX volume_attachments_mount ON volume_attachments (instance_id, mount) WHERE released_at IS NULL;
CREATE INDEX volume_attachments_volume ON volume_attachments (volume_id, released_at);
CREATE INDEX volume_attachments_project ON volume_attachments (project_id, released_at);

-- Orders to remove the bytes of volumes, unsigned, as in node_tasks. A volume is removed once, so there is one for each.
CREATE TABLE volume_tasks (
  id {{uuid}} NOT NULL PRIMARY KEY,
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  volume_id {{uuid}} NOT NULL REFERENCES volumes (id),
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
CREATE UNIQUE INDEX volume_tasks_volume ON volume_tasks (volume_id);
CREATE INDEX volume_tasks_due ON volume_tasks (state, next_at);
