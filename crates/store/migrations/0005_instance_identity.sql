-- Who an instance is when it speaks for itself, and what it says it used. One column per line, as in 0001.

-- One row per instance, once its node has shown a key. Only the key that stands here counts, and only while the instance
-- is at the generation that it was made for.
CREATE TABLE instance_identities (
  instance_id {{uuid}} NOT NULL PRIMARY KEY REFERENCES app_instances (id),
  service_account_id {{uuid}} NOT NULL REFERENCES service_accounts (id),
  key_id {{uuid}} NOT NULL REFERENCES service_account_keys (id),
  generation {{i64}} NOT NULL,
  node_id {{uuid}} NOT NULL REFERENCES nodes (id),
  registered_at {{ts}} NOT NULL,
  heard_at {{ts}}
){{strict}};
CREATE UNIQUE INDEX instance_identities_account ON instance_identities (service_account_id);
CREATE INDEX instance_identities_node ON instance_identities (node_id);

-- What apps say that was used, until it is rated. Said twice, it stands once: the key of a record decides.
CREATE TABLE app_metering_records (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL,
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  instance_id {{uuid}} NOT NULL REFERENCES app_instances (id),
  generation {{i64}} NOT NULL,
  meter {{text}} NOT NULL,
  quantity {{i64}} NOT NULL,
  window_start {{ts}} NOT NULL,
  window_end {{ts}} NOT NULL,
  record_key {{text}} NOT NULL,
  received_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX app_metering_records_once ON app_metering_records (instance_id, meter, record_key);
CREATE INDEX app_metering_records_project ON app_metering_records (project_id, id);
{{insert_only app_metering_records}}
