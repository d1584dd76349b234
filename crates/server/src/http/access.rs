//! Reaching endpoints over HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_api::access::{
    CreatedEndpointToken, EndpointPlace, EndpointToken, IdentityKey, IdentityKeys, NewEndpointToken,
    OpenRequest, OpenedEndpoint, PublicAccessChange,
};
use gpuaas_api::envelope::List;
use gpuaas_api::instances::Requester;
use gpuaas_control_plane::operations::access;
use gpuaas_domain::access::EndpointRoute;
use gpuaas_domain::ids::{EndpointTokenId, InstanceId, ProjectId};
use gpuaas_domain::text::DisplayName;
use gpuaas_domain::{Error, Kind};
use gpuaas_gateway::{ENTER_PATH, Gateway, is_path};
use gpuaas_store::access::StoredEndpointToken;

use super::extract::{Body, Call, MaybeBody, Parsing, parsed};
use super::problem::ApiResult;
use super::reply::{Created, Found, NoContent};

/// The endpoint a path names.
fn place(call: &Call) -> ApiResult<(ProjectId, InstanceId, String)> {
    let endpoint = call.segment("endpoint").ok_or_else(Error::not_found)?.to_owned();
    Ok((call.id("project_id")?, call.id("app_instance_id")?, endpoint))
}

fn gateway(call: &Call) -> ApiResult<&Gateway> {
    let found = call.app.gateway.get().ok_or_else(|| {
        Error::new(
            Kind::Unavailable,
            "gateway_not_configured",
            "This platform has no domain for apps; its operator sets gateway.apps_domain. Use port-forward meanwhile.",
        )
    })?;
    Ok(found)
}

pub(super) async fn open(
    call: Call,
    MaybeBody(request): MaybeBody<OpenRequest>,
) -> ApiResult<Found<OpenedEndpoint>> {
    let next = request.next.unwrap_or_else(|| "/".to_owned());
    if !is_path(&next) {
        return Err(Error::field("/next", "invalid_path", "Use a path of the app, as in /lab.").into());
    }
    let origin = gateway(&call)?.names().clone();
    let (project, instance, endpoint) = place(&call)?;
    let prepared = access::open(&call, project, instance, &endpoint).await?;
    let opened = prepared.map(|opening| OpenedEndpoint {
        url: Some(format!(
            "{}{ENTER_PATH}?code={}&next={}",
            origin.origin(&opening.label),
            opening.code.expose(),
            gpuaas_gateway::escaped(&next)
        )),
        expires_at: opening.expires_at,
        secret_redacted: false,
    });
    call.commit(opened).await
}

fn place_view(route: EndpointRoute) -> EndpointPlace {
    EndpointPlace {
        label: route.label.to_string(),
        project_id: route.project_id,
        app_instance_id: route.instance_id,
        instance_name: route.instance_name,
        component: route.component,
        endpoint: route.name,
        mode: route.mode,
        public_access: route.public_access,
        version: route.version,
    }
}

pub(super) async fn resolve(call: Call) -> ApiResult<Found<EndpointPlace>> {
    let label = call.segment("label").ok_or_else(Error::not_found)?.to_owned();
    Ok(Found(place_view(access::resolve(&call, &label).await?)))
}

pub(super) async fn set_public(
    call: Call,
    Body(change): Body<PublicAccessChange>,
) -> ApiResult<Found<EndpointPlace>> {
    let (project, instance, endpoint) = place(&call)?;
    let prepared = access::set_public(&call, project, instance, &endpoint, change.public_access).await?;
    call.commit(prepared.map(place_view)).await
}

fn token_view(token: StoredEndpointToken) -> EndpointToken {
    EndpointToken {
        id: token.id,
        name: token.name,
        created_by: Requester { kind: token.created_by_kind, id: token.created_by_id },
        created_at: token.created_at,
        expires_at: token.expires_at,
    }
}

pub(super) async fn list_tokens(call: Call) -> ApiResult<Found<List<EndpointToken>>> {
    let (project, instance, endpoint) = place(&call)?;
    let tokens = access::list_tokens(&call, project, instance, &endpoint).await?;
    Ok(Found(List { items: tokens.into_iter().map(token_view).collect(), next_cursor: None }))
}

pub(super) async fn create_token(
    call: Call,
    Body(new): Body<NewEndpointToken>,
) -> ApiResult<Created<CreatedEndpointToken>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/name", DisplayName::parse(&new.name));
    parsing.finish()?;
    let (project, instance, endpoint) = place(&call)?;
    let prepared =
        access::create_token(&call, project, instance, &endpoint, parsed(name)?, new.ttl_seconds).await?;
    let created = prepared.map(|made| CreatedEndpointToken {
        token: Some(made.secret.expose().clone()),
        endpoint_token: token_view(made.token),
        secret_redacted: false,
    });
    call.commit(created).await
}

pub(super) async fn revoke_token(call: Call) -> ApiResult<NoContent> {
    let (project, instance, endpoint) = place(&call)?;
    let id: EndpointTokenId = call.id("token_id")?;
    call.commit(access::revoke_token(&call, project, instance, &endpoint, id).await?).await
}

pub(super) async fn identity_keys(call: Call) -> ApiResult<Found<IdentityKeys>> {
    let keys = access::identity_keys(&call.plane).await?.into_iter().map(|(kid, key)| IdentityKey {
        kty: "OKP".into(),
        crv: "Ed25519".into(),
        alg: "EdDSA".into(),
        usage: "sig".into(),
        kid,
        x: URL_SAFE_NO_PAD.encode(key),
    });
    Ok(Found(IdentityKeys { keys: keys.collect() }))
}
