-- Repositories, artifacts, the keys that stand for them, and what opens the registry. One column per line, as in 0001.

-- A name is never given to another owner: images under it may have been signed and pulled.
CREATE TABLE repositories (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  namespace {{text}} NOT NULL,
  app_slug {{text}} NOT NULL,
  visibility {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX repositories_name ON repositories (namespace, app_slug);
CREATE INDEX repositories_project ON repositories (project_id, id);

-- Who may stand for images. Without an owner: the platform's, for every project.
CREATE TABLE trust_keys (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} REFERENCES tenants (id),
  project_id {{uuid}} REFERENCES projects (id),
  name {{text}} NOT NULL,
  fingerprint {{text}} NOT NULL,
  algorithm {{text}} NOT NULL,
  public_key {{text}} NOT NULL,
  valid_until {{ts}},
  revoked_at {{ts}},
  revoked_reason {{text}},
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL
){{strict}};
CREATE INDEX trust_keys_project ON trust_keys (project_id, id);
CREATE UNIQUE INDEX trust_keys_name ON trust_keys (project_id, name) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX trust_keys_platform_name ON trust_keys (name) WHERE project_id IS NULL;

CREATE TABLE app_artifacts (
  id {{uuid}} NOT NULL PRIMARY KEY,
  repository_id {{uuid}} NOT NULL REFERENCES repositories (id),
  digest {{text}} NOT NULL,
  tag {{text}},
  media_type {{text}} NOT NULL,
  size_bytes {{i64}} NOT NULL,
  variant {{text}},
  source {{json}} NOT NULL,
  state {{text}} NOT NULL,
  channel {{text}},
  trust {{text}} NOT NULL,
  trust_key_id {{uuid}} REFERENCES trust_keys (id),
  trust_signer {{text}},
  trust_at {{ts}},
  statement_digest {{text}},
  provenance_digest {{text}},
  signed_as {{text}},
  trust_reason {{text}},
  created_by_kind {{text}} NOT NULL,
  created_by_id {{text}} NOT NULL,
  version {{i64}} NOT NULL,
  created_at {{ts}} NOT NULL,
  updated_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX app_artifacts_digest ON app_artifacts (repository_id, digest);
CREATE INDEX app_artifacts_key ON app_artifacts (trust_key_id);

CREATE TABLE artifact_promotions (
  id {{uuid}} NOT NULL PRIMARY KEY,
  artifact_id {{uuid}} NOT NULL REFERENCES app_artifacts (id),
  channel {{text}} NOT NULL,
  actor_kind {{text}} NOT NULL,
  actor_id {{text}} NOT NULL,
  promoted_at {{ts}} NOT NULL
){{strict}};
CREATE UNIQUE INDEX artifact_promotions_once ON artifact_promotions (artifact_id, channel);

-- Which artifacts a version names: found when it was registered, so that host and root may change later.
CREATE TABLE app_version_images (
  app_version_id {{uuid}} NOT NULL REFERENCES app_versions (id),
  reference {{text}} NOT NULL,
  namespace {{text}} NOT NULL,
  app_slug {{text}} NOT NULL,
  digest {{text}} NOT NULL,
  PRIMARY KEY (app_version_id, reference)
){{strict}};
CREATE INDEX app_version_images_digest ON app_version_images (digest);

-- What opens one repository for a short while, for whom it was issued. Its secret is stored as a hash only.
CREATE TABLE registry_credentials (
  id {{uuid}} NOT NULL PRIMARY KEY,
  tenant_id {{uuid}} NOT NULL REFERENCES tenants (id),
  project_id {{uuid}} NOT NULL REFERENCES projects (id),
  repository_id {{uuid}} NOT NULL REFERENCES repositories (id),
  purpose {{text}} NOT NULL,
  digest {{text}},
  secret_hash {{bytes}} NOT NULL,
  actor_kind {{text}} NOT NULL,
  actor_id {{text}} NOT NULL,
  created_at {{ts}} NOT NULL,
  expires_at {{ts}} NOT NULL,
  first_used_at {{ts}},
  revoked_at {{ts}},
  expired_at {{ts}},
  version {{i64}} NOT NULL
){{strict}};
CREATE INDEX registry_credentials_end ON registry_credentials (expires_at);
CREATE INDEX registry_credentials_project ON registry_credentials (project_id, id);

-- Keys that sign registry tokens: ES256 under a certificate, because registries want that.
CREATE TABLE registry_keys (
  id {{uuid}} NOT NULL PRIMARY KEY,
  certificate {{text}} NOT NULL,
  secret_id {{uuid}} NOT NULL REFERENCES secrets (id),
  created_at {{ts}} NOT NULL,
  retired_at {{ts}}
){{strict}};

-- How far the making of an app has come; gone when it has ended.
CREATE TABLE app_preparations (
  app_slug {{text}} NOT NULL PRIMARY KEY REFERENCES apps (slug),
  stage {{text}} NOT NULL,
  percent {{i64}} NOT NULL,
  failure {{text}},
  updated_at {{ts}} NOT NULL
){{strict}};
