-- What an instance was asked for stands beside what was rendered from it; before, render_input held the wish alone.

ALTER TABLE app_instance_revisions ADD COLUMN wish {{json}};

-- Choices of a launch form under a name. One of an app may be what the project's forms begin with.
CREATE TABLE launch_presets (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  app_slug {{text}} NOT NULL,
  name {{text}} NOT NULL,
  is_default {{bool}} NOT NULL,
  choices {{json}} NOT NULL,
  created_by_kind {{text}} NOT NULL,
  created_by_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  version {{i64}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX launch_presets_name ON launch_presets (project_id, app_slug, name);
CREATE UNIQUE INDEX launch_presets_default ON launch_presets (project_id, app_slug) WHERE is_default;
