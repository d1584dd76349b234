//! Somebody who publishes images, the way authors do: intent, push, signature, registration, verification, promotion.

use gpuaas_agent_protocol::Digest;
use gpuaas_api::Route;
use gpuaas_control_plane::Clock as _;
use gpuaas_domain::artifact::{
    Artifact, ArtifactState, PLATFORM_NAMESPACE, Repository, RepositoryPath, Trust, TrustState, Visibility,
};
use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::ids::{ArtifactId, ProjectId, RepositoryId};
use gpuaas_oci::manifest::{Descriptor, OCI_INDEX, Platform, write_index};
use gpuaas_oci::sign::PrivateKey;
use gpuaas_oci::{Credentials, Image, ImageBuilder, Registry, SecretText, Settings};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use crate::{Caller, TestPlatform};

/// An image of busybox that serves one page.
pub fn web_image(page: &str) -> Image {
    let busybox = std::fs::read("/bin/busybox").expect("apt-get install busybox-static");
    ImageBuilder::new("amd64")
        .file("bin/busybox", 0o755, busybox)
        .file("www/index.html", 0o644, page.as_bytes().to_vec())
        .entrypoint(["/bin/busybox"])
        .cmd(["httpd", "-f", "-v", "-p", "8080", "-h", "/www"])
        .build()
        .expect("an image")
}

/// An image of one program of this workspace, with the libraries it needs from this machine.
pub fn program_image(name: &str) -> Image {
    let program = crate::process::binary(name);
    let needs = std::process::Command::new("ldd").arg(&program).output().expect("ldd, of libc-bin");
    let needs = String::from_utf8(needs.stdout).expect("text");
    let libraries = needs.split_whitespace().filter(|word| word.starts_with('/'));
    let mut image =
        ImageBuilder::new("amd64").file("app", 0o755, std::fs::read(&program).expect("a program"));
    for library in libraries {
        let bytes = std::fs::read(library).expect("a library");
        image = image.file(library.trim_start_matches('/'), 0o755, bytes);
    }
    image.entrypoint(["/app"]).build().expect("an image")
}

/// An image of one small file, for tests that start nothing.
pub fn small_image(content: &str) -> Image {
    ImageBuilder::new("amd64").file("file", 0o644, content.as_bytes().to_vec()).build().expect("an image")
}

pub struct Author {
    pub caller: Caller,
    pub project: String,
    pub key: PrivateKey,
}

/// What a push needs.
pub struct Push {
    pub registry: Registry,
    /// Without the host.
    pub repository: String,
    /// With it, as the platform calls it.
    pub name: String,
}

impl Author {
    /// With a key of their own, which the project trusts from now on.
    pub async fn new(caller: &Caller, project: &str, name: &str) -> Self {
        let key = PrivateKey::generate(&SystemRandom::new()).expect("a key");
        let body = json!({"name": name, "public_key": key.public().to_pem()});
        caller.call(Route::TrustKeyAdd, &[project], Some(&body)).await.expect(201);
        Self { caller: caller.clone(), project: project.to_owned(), key }
    }

    /// The user name and password behind an intent.
    pub async fn unwrap(&self, intent: &Value) -> (String, String) {
        let token = intent["credential"]["wrap_token"].as_str().expect("a wrap");
        let opened =
            self.caller.call(Route::Unwrap, &[], Some(&json!({ "token": token }))).await.expect(200).body;
        let value: Value = serde_json::from_str(opened["value"].as_str().expect("a value")).expect("JSON");
        let text = |name: &str| value[name].as_str().expect("a text").to_owned();
        (text("username"), text("password"))
    }

    /// Asks for an intent and signs in with it.
    pub async fn intend(&self, app: &str, visibility: &str) -> Push {
        let wish = json!({"app_slug": app, "visibility": visibility});
        let intent = self.caller.call(Route::PublishIntentCreate, &[&self.project], Some(&wish)).await;
        let intent = intent.expect(201).body;
        let (user, password) = self.unwrap(&intent).await;
        let credentials = Credentials::Password { user, password: SecretText::new(password) };
        let registry = Registry::with(self.caller.url(), Some(credentials), Settings::default());
        Push {
            registry: registry.expect("an address"),
            repository: intent["repository"].as_str().expect("a repository").to_owned(),
            name: intent["name"].as_str().expect("a name").to_owned(),
        }
    }

    /// Pushes and signs; gives where.
    pub async fn push(&self, app: &str, visibility: &str, image: &Image) -> Push {
        let push = self.intend(app, visibility).await;
        push.registry.push(&push.repository, image, None).await.expect("the registry takes it");
        self.sign(&push, image.digest()).await;
        push
    }

    /// Pushes images for several machines, each with its architecture, and one index over them; signs the index alone.
    pub async fn push_index(&self, app: &str, visibility: &str, images: &[(&str, &Image)]) -> (Push, Digest) {
        let push = self.intend(app, visibility).await;
        let mut parts = Vec::new();
        for (architecture, image) in images {
            push.registry.push(&push.repository, image, None).await.expect("the registry takes it");
            let mut part = Descriptor::of(gpuaas_oci::MANIFEST_TYPE, &image.manifest.bytes);
            let architecture = (*architecture).to_owned();
            part.platform = Some(Platform { os: "linux".into(), architecture, variant: String::new() });
            parts.push(part);
        }
        let index = write_index(&parts);
        let digest = Digest::of(&index);
        let repository = push.repository.parse().expect("a repository");
        let put = push.registry.put_manifest(&repository, &digest, OCI_INDEX, index).await;
        put.expect("the registry takes the index");
        self.sign(&push, &digest).await;
        (push, digest)
    }

    pub async fn sign(&self, push: &Push, digest: &Digest) {
        let repository = push.repository.parse().expect("a repository");
        let now = crate::MovableClock::default().now().to_datetime();
        let signed = push.registry.sign(&repository, digest, &self.key, now, &SystemRandom::new()).await;
        signed.expect("the registry takes the signature");
    }

    pub async fn register(&self, push: &Push, digest: &Digest) -> Value {
        let body = json!({"repository": push.repository, "digest": digest.as_str()});
        self.caller.call(Route::ArtifactRegister, &[&self.project], Some(&body)).await.expect(201).body
    }

    /// Everything, up to an artifact that may be launched in production. Gives the artifact.
    pub async fn publish(&self, app: &str, visibility: &str, image: &Image) -> Value {
        let push = self.push(app, visibility, image).await;
        self.release(&push, image.digest()).await
    }

    /// From a push to an artifact that may be launched in production.
    pub async fn release(&self, push: &Push, digest: &Digest) -> Value {
        let artifact = self.register(push, digest).await;
        let id = artifact["id"].as_str().expect("an id").to_owned();
        let at = [self.project.as_str(), id.as_str()];
        let verified = self.caller.call(Route::ArtifactVerify, &at, None).await.expect(200).body;
        assert_eq!(verified["trust"]["state"], "verified", "{verified}");
        let mut artifact = verified;
        for channel in ["dev", "staging", "production"] {
            let body = json!({ "channel": channel });
            artifact = self.caller.call(Route::ArtifactPromote, &at, Some(&body)).await.expect(200).body;
        }
        assert_eq!(artifact["active"], true, "{artifact}");
        artifact
    }
}

impl TestPlatform {
    /// Rows as if every image of a manifest had been published for all: for tests that start nothing and ask for other
    /// things than images.
    pub async fn stock(&self, manifest: &Value, project: &str) {
        let mut images = Vec::new();
        collect(manifest, &mut images);
        let names = &self.plane().registry().names;
        let project: ProjectId = project.parse().expect("a project");
        for image in images {
            let Ok(reference) = image.parse() else { continue };
            let Ok(path) = names.parse(&reference) else { continue };
            self.stock_one(&path, reference.digest(), project).await;
        }
    }

    async fn stock_one(&self, path: &RepositoryPath, digest: &Digest, project: ProjectId) {
        let plane = self.plane();
        let permit = Permit::system("test", Scope::Platform);
        let mut tx = self.store().begin(&permit, plane.own_stamp()).await.expect("a transaction");
        if tx.find_artifact_by_digest(path, digest).await.expect("a look").is_some() {
            return;
        }
        let owner =
            tx.find_project(permit.tenant_scope(), project).await.expect("a look").expect("a project");
        let at = tx.at();
        let known = tx.find_repository_by_path(path).await.expect("a look");
        let repository = if let Some(known) = known {
            known
        } else {
            let repository = Repository {
                id: RepositoryId::new(plane.new_uuid()),
                tenant_id: owner.tenant_id,
                project_id: project,
                namespace: path.namespace.clone(),
                app_slug: path.app_slug.clone(),
                visibility: if path.namespace == PLATFORM_NAMESPACE {
                    Visibility::Platform
                } else {
                    Visibility::Project
                },
                version: 1,
                created_at: at,
                updated_at: at,
            };
            tx.insert_repository(&repository).await.expect("a row");
            repository
        };
        let artifact = Artifact {
            id: ArtifactId::new(plane.new_uuid()),
            repository,
            digest: digest.clone(),
            tag: None,
            media_type: "application/vnd.oci.image.manifest.v1+json".into(),
            size_bytes: 1,
            variant: None,
            source: json!({}),
            state: ArtifactState::Promoted,
            channel: Some("production".into()),
            trust: Trust { state: TrustState::Verified, at: Some(at), ..Trust::unverified(None) },
            created_by_kind: "system".into(),
            created_by_id: "test".into(),
            version: 1,
            created_at: at,
            updated_at: at,
        };
        tx.insert_artifact(&artifact).await.expect("a row");
        let change = Change::new("test.stock", ObjectRef::new("app_artifact", artifact.id));
        tx.commit(change, None).await.expect("a commit");
    }
}

/// Every text that could be an image.
fn collect(value: &Value, images: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("@sha256:") => images.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, images)),
        Value::Object(members) => members.values().for_each(|member| collect(member, images)),
        _ => {}
    }
}
