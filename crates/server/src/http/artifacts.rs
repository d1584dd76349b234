//! Artifacts, keys, intents and the token server over HTTP.

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::IntoResponse as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gpuaas_api::agent::{ImageAccess, ImageAccessRequest, ImageKey, ImageTrust};
use gpuaas_api::artifacts::{
    Artifact, ArtifactDetail, ArtifactQuery, ArtifactTrust, ArtifactUse, CredentialDelivery, NewArtifact,
    NewPublishIntent, NewPullIntent, NewTrustKey, Promote, Promotion, PublishIntent, PullIntent,
    RegistryCredential, RegistryInfo, RegistryToken, RepositoryView, SetPreparing, SetRepository, TokenQuery,
    TrustKey,
};
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_control_plane::operations::intents::{self, IssuedIntent};
use gpuaas_control_plane::operations::node_images::{self, NodeAccess};
use gpuaas_control_plane::operations::{artifacts, catalog, registry, repositories, trust_keys};
use gpuaas_control_plane::{ControlPlane, Prepared};
use gpuaas_domain::artifact::{self, ArtifactState, RepositoryPath};
use gpuaas_domain::ids::ProjectId;
use gpuaas_domain::text::{DisplayName, Slug};
use gpuaas_domain::{Error, Secret};
use gpuaas_store::registry_access::StoredCredential;

use super::door::AppState;
use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::meta::Plain;
use super::problem::{ApiError, ApiResult};
use super::reply::{self, Created, Found, NoContent};
use super::tenants::reason;

const MAX_SCOPES: usize = 10;

fn artifact_view(plane: &ControlPlane, found: artifact::Artifact) -> Artifact {
    let (names, settings) = (&plane.registry().names, &plane.settings.registry);
    let path = found.repository.path();
    let mut found = found;
    if found.trust.until.is_some_and(|end| end <= plane.now())
        && found.trust.state == artifact::TrustState::Verified
    {
        found.trust.state = artifact::TrustState::Unverified;
        found.trust.reason = Some("The key that stood for it has ended.".to_owned());
    }
    let active = found.trust.state == artifact::TrustState::Verified
        && found.state == ArtifactState::Promoted
        && settings.channels.reaches_environment(found.channel.as_deref());
    Artifact {
        id: found.id,
        project_id: found.repository.project_id,
        app_slug: found.repository.app_slug.clone(),
        repository: names.repository(&path),
        reference: format!("{}@{}", names.full_name(&path), found.digest),
        digest: found.digest.to_string(),
        tag: found.tag,
        media_type: found.media_type,
        size_bytes: found.size_bytes,
        variant: found.variant,
        source: found.source,
        visibility: found.repository.visibility,
        status: found.state,
        channel: found.channel,
        active,
        trust: ArtifactTrust {
            state: found.trust.state,
            key_id: found.trust.key,
            signer: found.trust.signer,
            verified_at: found.trust.at,
            statement_digest: found.trust.statement_digest,
            provenance_digest: found.trust.provenance_digest,
            reason: found.trust.reason,
        },
        created_by_kind: found.created_by_kind,
        created_by_id: found.created_by_id,
        version: found.version,
        created_at: found.created_at,
        updated_at: found.updated_at,
    }
}

fn repository_view(plane: &ControlPlane, found: artifact::Repository) -> RepositoryView {
    RepositoryView {
        id: found.id,
        name: plane.registry().names.repository(&found.path()),
        app_slug: found.app_slug,
        visibility: found.visibility,
        project_id: found.project_id,
        version: found.version,
        created_at: found.created_at,
        updated_at: found.updated_at,
    }
}

fn key_view(key: artifact::TrustKey) -> TrustKey {
    TrustKey {
        id: key.id,
        project_id: key.owner.map(|(_, project)| project),
        name: key.name,
        fingerprint: key.fingerprint,
        algorithm: key.algorithm,
        public_key: key.public_key,
        valid_until: key.valid_until,
        revoked_at: key.revoked_at,
        revoked_reason: key.revoked_reason,
        version: key.version,
        created_at: key.created_at,
    }
}

fn credential_view(plane: &ControlPlane, found: (StoredCredential, RepositoryPath)) -> RegistryCredential {
    let (credential, path) = found;
    RegistryCredential {
        id: credential.id,
        purpose: credential.purpose.name().to_owned(),
        repository: plane.registry().names.repository(&path),
        digest: credential.digest.map(|digest| digest.to_string()),
        actor_kind: credential.actor_kind,
        actor_id: credential.actor_id,
        created_at: credential.created_at,
        expires_at: credential.expires_at,
        first_used_at: credential.first_used_at,
        revoked_at: credential.revoked_at,
        version: credential.version,
    }
}

// --- the token server ---------------------------------------------------------------------------------------------

/// What a registry client asks for. `scope` may stand several times, which the ordinary reader of queries refuses.
pub(super) struct TokenAsk {
    service: Option<String>,
    scopes: Vec<String>,
}

impl FromRequestParts<AppState> for TokenAsk {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> ApiResult<Self> {
        let refuse = |why: &str| {
            Error::invalid("invalid_query", format!("The query string cannot be accepted: {why}."))
        };
        let query = parts.uri.query().unwrap_or_default();
        let axum::extract::Query(pairs) =
            axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
                .map_err(|_| refuse("it cannot be read"))?;
        if query.contains("%00") {
            return Err(Error::invalid("nul_not_allowed", "Text cannot hold the NUL character.").into());
        }
        let mut ask = Self { service: None, scopes: Vec::new() };
        for (name, value) in pairs {
            match name.as_str() {
                "service" if ask.service.is_some() => return Err(refuse("service stands twice").into()),
                "service" => ask.service = Some(value),
                "scope" if ask.scopes.len() == MAX_SCOPES => return Err(refuse("too many scopes").into()),
                "scope" => ask.scopes.push(value),
                // Clients send more; nothing of it changes what they get.
                _ => {}
            }
        }
        Ok(ask)
    }
}

impl OperationInput for TokenAsk {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::extract::Query::<TokenQuery>::operation_input(context, operation);
    }
}

/// The password of an `Authorization: Basic` header. Whoever is named in it does not matter: the password says it.
fn password(headers: &HeaderMap) -> ApiResult<Secret<String>> {
    let missing = || {
        Error::unauthenticated(
            "unauthenticated",
            "Sign in with `docker login`: any name, and a personal token or a registry credential as password.",
        )
    };
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().and_then(|value| value.to_str().ok()).ok_or_else(missing)?;
    if values.next().is_some() {
        return Err(missing().into());
    }
    let (scheme, encoded) = value.split_once(' ').ok_or_else(missing)?;
    let decoded = STANDARD.decode(encoded.trim()).ok().map(Secret::new);
    let decoded = decoded.filter(|_| scheme.eq_ignore_ascii_case("basic")).ok_or_else(missing)?;
    let text = std::str::from_utf8(decoded.expose()).map_err(|_| missing())?;
    let (_, password) = text.split_once(':').ok_or_else(missing)?;
    Ok(Secret::new(password.to_owned()))
}

pub(super) async fn token(call: Call, ask: TokenAsk, headers: HeaderMap) -> ApiResult<Found<RegistryToken>> {
    let password = password(&headers)?;
    let issued = registry::issue_token(&call, password.expose(), ask.service.as_deref(), &ask.scopes).await?;
    let token = issued.token.expose().clone();
    Ok(Found(RegistryToken {
        access_token: token.clone(),
        token,
        expires_in: issued.expires_in_seconds,
        issued_at: issued.issued_at,
    }))
}

pub(super) async fn certificate(call: Call) -> ApiResult<Plain> {
    let pem = call.plane.registry_certificates().await?;
    let kind = HeaderValue::from_static("application/x-pem-file");
    Ok(Plain(([(header::CONTENT_TYPE, kind)], pem).into_response()))
}

pub(super) async fn node_access(
    call: Call,
    Body(ask): Body<ImageAccessRequest>,
) -> ApiResult<Found<ImageAccess>> {
    let prepared =
        node_images::node_access(&call, ask.app_instance_id, ask.generation, &ask.reference).await?;
    let view = |access: NodeAccess| ImageAccess {
        registry_url: access.registry_url,
        token: access.token.expose().clone(),
        expires_at: access.expires_at,
        trust: ImageTrust {
            enforce: access.enforce,
            names: access.names,
            keys: access
                .keys
                .into_iter()
                .map(|(public_key, valid_until)| ImageKey { public_key, valid_until })
                .collect(),
            accept_unnamed: access.accept_unnamed,
        },
    };
    // Not kept for a repetition: it holds a token, and asking again gives another.
    Ok(Found(view(prepared.commit(None).await?)))
}

// --- repositories, credentials, keys ------------------------------------------------------------------------------

pub(super) async fn info(call: Call) -> ApiResult<Found<RegistryInfo>> {
    let project: ProjectId = call.id("project_id")?;
    let found = repositories::info(&call, project).await?;
    let (door, settings) = (call.plane.registry(), &call.plane.settings.registry);
    let used = call.app.registry.get().map_or(0, |role| role.used_bytes(project));
    Ok(Found(RegistryInfo {
        host: door.names.host.clone(),
        url: door.public_url.clone(),
        root: door.names.root.clone(),
        namespace: found.namespace,
        token_url: door.token_url.clone(),
        service: door.service().to_owned(),
        channels: settings.channels.order().to_vec(),
        environment: settings.channels.environment().to_owned(),
        trust: settings.trust,
        quota_bytes: found.quota_bytes,
        used_bytes: i64::try_from(used).unwrap_or(i64::MAX),
        repositories: found
            .repositories
            .into_iter()
            .map(|repository| repository_view(&call.plane, repository))
            .collect(),
    }))
}

pub(super) async fn set_repository(
    call: Call,
    Body(wish): Body<SetRepository>,
) -> ApiResult<Found<RepositoryView>> {
    let app = call.slug("app_slug")?;
    let prepared = repositories::set_repository(
        &call,
        call.id("project_id")?,
        &app,
        wish.visibility,
        wish.repository.as_deref(),
    )
    .await?;
    call.commit(prepared.map(|found| repository_view(&call.plane, found))).await
}

pub(super) async fn list_credentials(
    call: Call,
    Query(query): Query<PageQuery>,
) -> ApiResult<Found<List<RegistryCredential>>> {
    let list = call.list_name("");
    let page =
        intents::list_credentials(&call, call.id("project_id")?, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page.map(|found| credential_view(&call.plane, found)), &list)))
}

pub(super) async fn revoke_credential(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<RegistryCredential>> {
    let (project, id) = (call.id("project_id")?, call.id("credential_id")?);
    let prepared = intents::revoke_credential(&call, project, id, reason(&because)?).await?;
    call.commit(prepared.map(|found| credential_view(&call.plane, found))).await
}

/// The project of the path, or none for the platform's own routes.
fn owner(call: &Call) -> ApiResult<Option<ProjectId>> {
    call.segment("project_id").is_some().then(|| call.id("project_id")).transpose()
}

pub(super) async fn list_keys(call: Call) -> ApiResult<Found<List<TrustKey>>> {
    let keys = trust_keys::list(&call, owner(&call)?).await?;
    Ok(Found(List { items: keys.into_iter().map(key_view).collect(), next_cursor: None }))
}

pub(super) async fn add_key(call: Call, Body(new): Body<NewTrustKey>) -> ApiResult<Created<TrustKey>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/name", Slug::parse(&new.name));
    parsing.finish()?;
    let prepared =
        trust_keys::add(&call, owner(&call)?, parsed(name)?, &new.public_key, new.valid_until).await?;
    call.commit(prepared.map(key_view)).await
}

pub(super) async fn revoke_key(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<TrustKey>> {
    let prepared = trust_keys::revoke(&call, owner(&call)?, call.id("key_id")?, reason(&because)?).await?;
    call.commit(prepared.map(key_view)).await
}

// --- intents ------------------------------------------------------------------------------------------------------

fn delivery(call: &Call, intent: &IssuedIntent) -> CredentialDelivery {
    CredentialDelivery {
        mode: "wrapped".into(),
        unwrap_url: format!("{}{}", call.app.public_url, gpuaas_api::Route::Unwrap.row().path),
        wrap_token: Some(intent.wrap.token.expose().clone()),
        wrap_expires_at: intent.wrap.expires_at,
    }
}

pub(super) async fn publish_intent(
    call: Call,
    Body(wish): Body<NewPublishIntent>,
) -> ApiResult<Created<PublishIntent>> {
    let mut parsing = Parsing::default();
    let app = parsing.field("/app_slug", Slug::parse(&wish.app_slug));
    parsing.finish()?;
    if wish.tag.as_deref().is_some_and(|tag| !gpuaas_agent_protocol::image::is_tag(tag)) {
        return Err(
            Error::field("/tag", "invalid_value", "A tag is at most 128 letters, digits and . _ -.").into()
        );
    }
    let project = call.id("project_id")?;
    let prepared =
        intents::publish_intent(&call, project, &parsed(app)?, wish.visibility, wish.expires_in_seconds)
            .await?;
    let door = call.plane.registry();
    let prepared: Prepared<PublishIntent> = prepared.map(|intent| PublishIntent {
        id: intent.id,
        repository: door.names.repository(&intent.repository.path()),
        name: door.names.full_name(&intent.repository.path()),
        registry_url: door.public_url.clone(),
        token_url: door.token_url.clone(),
        service: door.service().to_owned(),
        tag_hint: wish.tag,
        digest_requirement: "sha256".into(),
        actions: vec!["pull".into(), "push".into()],
        credential: delivery(&call, &intent),
        expires_at: intent.expires_at,
        secret_redacted: false,
    });
    call.commit(prepared).await
}

pub(super) async fn pull_intent(
    call: Call,
    Body(wish): Body<NewPullIntent>,
) -> ApiResult<Created<PullIntent>> {
    let project = call.id("project_id")?;
    let prepared = intents::pull_intent(&call, project, wish.artifact_id, wish.expires_in_seconds).await?;
    let door = call.plane.registry();
    let prepared: Prepared<PullIntent> = prepared.map(|(intent, artifact)| {
        let path = intent.repository.path();
        PullIntent {
            id: intent.id,
            artifact_id: artifact.id,
            repository: door.names.repository(&path),
            reference: format!("{}@{}", door.names.full_name(&path), artifact.digest),
            digest: artifact.digest.to_string(),
            media_type: artifact.media_type,
            size_bytes: artifact.size_bytes,
            tag: artifact.tag,
            registry_url: door.public_url.clone(),
            token_url: door.token_url.clone(),
            service: door.service().to_owned(),
            actions: vec!["pull".into()],
            credential: delivery(&call, &intent),
            expires_at: intent.expires_at,
            secret_redacted: false,
        }
    });
    call.commit(prepared).await
}

// --- artifacts ----------------------------------------------------------------------------------------------------

pub(super) async fn register(call: Call, Body(new): Body<NewArtifact>) -> ApiResult<Created<Artifact>> {
    let mut parsing = Parsing::default();
    let variant = parsing.optional("/variant", new.variant.as_deref(), Slug::parse);
    parsing.finish()?;
    let NewArtifact { repository, digest, tag, media_type, source, .. } = new;
    let wish = artifacts::NewArtifact { repository, digest, tag, media_type, variant, source };
    let prepared = artifacts::register(&call, call.id("project_id")?, wish).await?;
    call.commit(prepared.map(|found| artifact_view(&call.plane, found))).await
}

pub(super) async fn list(call: Call, Query(query): Query<ArtifactQuery>) -> ApiResult<Found<List<Artifact>>> {
    let visible = query.visible.unwrap_or(false);
    let app = query.app.as_deref();
    let list = call.list_name(&format!("{}/{visible}", app.unwrap_or_default()));
    let page = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
    let page = page_request(&page, &list)?;
    let found = artifacts::list(&call, call.id("project_id")?, app, visible, &page).await?;
    Ok(Found(reply::list(found.map(|one| artifact_view(&call.plane, one)), &list)))
}

pub(super) async fn get(call: Call) -> ApiResult<Found<ArtifactDetail>> {
    let (found, promotions, uses) =
        artifacts::get(&call, call.id("project_id")?, call.id("artifact_id")?).await?;
    Ok(Found(ArtifactDetail {
        artifact: artifact_view(&call.plane, found),
        promotions: promotions
            .into_iter()
            .map(|one| Promotion {
                channel: one.channel,
                promoted_at: one.at,
                actor_kind: one.actor_kind,
                actor_id: one.actor_id,
            })
            .collect(),
        used_by: uses
            .into_iter()
            .map(|one| ArtifactUse {
                app_slug: one.app_slug,
                app_version: one.app_version,
                status: one.status,
            })
            .collect(),
    }))
}

async fn commit(call: &Call, prepared: Prepared<artifact::Artifact>) -> ApiResult<Found<Artifact>> {
    call.commit(prepared.map(|found| artifact_view(&call.plane, found))).await
}

pub(super) async fn verify(call: Call) -> ApiResult<Found<Artifact>> {
    let prepared = artifacts::verify(&call, call.id("project_id")?, call.id("artifact_id")?).await?;
    commit(&call, prepared).await
}

pub(super) async fn promote(call: Call, Body(wish): Body<Promote>) -> ApiResult<Found<Artifact>> {
    let (project, id) = (call.id("project_id")?, call.id("artifact_id")?);
    let why = reason(&Because { reason: wish.reason })?;
    commit(&call, artifacts::promote(&call, project, id, &wish.channel, why).await?).await
}

async fn withdraw(call: &Call, to: ArtifactState, because: &Because) -> ApiResult<Found<Artifact>> {
    let (project, id) = (call.id("project_id")?, call.id("artifact_id")?);
    commit(call, artifacts::withdraw(call, project, id, to, reason(because)?).await?).await
}

pub(super) async fn deprecate(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<Artifact>> {
    withdraw(&call, ArtifactState::Deprecated, &because).await
}

pub(super) async fn retire(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Artifact>> {
    withdraw(&call, ArtifactState::Retired, &because).await
}

pub(super) async fn revoke(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Artifact>> {
    let (project, id) = (call.id("project_id")?, call.id("artifact_id")?);
    commit(&call, artifacts::revoke(&call, project, id, reason(&because)?).await?).await
}

// --- what is being made -------------------------------------------------------------------------------------------

pub(super) async fn set_preparing(call: Call, Body(wish): Body<SetPreparing>) -> ApiResult<NoContent> {
    let slug = call.slug("app_slug")?;
    let mut parsing = Parsing::default();
    let name = parsing.field("/display_name", DisplayName::parse(&wish.display_name));
    let stage = parsing.field("/stage", DisplayName::parse(&wish.stage));
    parsing.finish()?;
    if wish.percent > 100 {
        return Err(Error::field("/percent", "out_of_range", "Use 0 to 100.").into());
    }
    let failure = wish.failure.map(|text| {
        let text: String =
            text.chars().filter(|c| !gpuaas_domain::text::is_deceptive(*c)).take(500).collect();
        text
    });
    let prepared = catalog::set_preparing(
        &call,
        slug.as_str(),
        parsed(name)?.as_str(),
        parsed(stage)?.as_str(),
        wish.percent,
        failure.as_deref(),
    )
    .await?;
    call.commit(prepared).await
}

pub(super) async fn clear_preparing(call: Call) -> ApiResult<NoContent> {
    let slug = call.slug("app_slug")?;
    call.commit(catalog::clear_preparing(&call, slug.as_str()).await?).await
}
