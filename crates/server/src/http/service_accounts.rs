//! Service accounts over HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_api::service_accounts::{
    AccountKey, AccountQuery, KeyDelivery, NewServiceAccount, RotateKey, ServiceAccount,
    ServiceAccountDetail, ServiceAccountWithKey, WrapView,
};
use gpuaas_control_plane::operations::service_accounts::{self, KeyChoice};
use gpuaas_domain::identity;
use gpuaas_domain::text::DisplayName;

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};
use super::tenants::reason;

fn key_view(key: &identity::AccountKey) -> AccountKey {
    AccountKey {
        id: key.id,
        public_key: URL_SAFE_NO_PAD.encode(key.public_key),
        not_after: key.not_after,
        created_at: key.created_at,
    }
}

fn with_key(made: service_accounts::WithKey) -> ServiceAccountWithKey {
    ServiceAccountWithKey {
        key: key_view(&made.key),
        account: made.account.into(),
        private_key_pem: made.private_key_pem.map(|pem| pem.expose().clone()),
        wrapped_private_key: made
            .wrapped
            .map(|wrap| WrapView { token: wrap.token.expose().clone(), expires_at: wrap.expires_at }),
        secret_redacted: false,
    }
}

pub(super) async fn list(
    call: Call,
    Query(query): Query<AccountQuery>,
) -> ApiResult<Found<List<ServiceAccount>>> {
    let kind = query.kind.unwrap_or(identity::AccountKind::Operator);
    let list = call.list_name(kind.name());
    let page = page_request(&PageQuery { limit: query.limit, cursor: query.cursor }, &list)?;
    let page = service_accounts::list(&call, call.id("project_id")?, kind, &page).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn create(
    call: Call,
    Body(new): Body<NewServiceAccount>,
) -> ApiResult<Created<ServiceAccountWithKey>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/name", DisplayName::parse(&new.name));
    parsing.finish()?;
    let choice = KeyChoice::parse(new.public_key.as_deref(), new.key_delivery == KeyDelivery::Wrapped)?;
    let project = call.id("project_id")?;
    let prepared = service_accounts::create(&call, project, parsed(name)?, &new.roles, choice).await?;
    call.commit(prepared.map(with_key)).await
}

pub(super) async fn get(call: Call) -> ApiResult<Found<ServiceAccountDetail>> {
    let (account, keys) =
        service_accounts::get(&call, call.id("project_id")?, call.id("service_account_id")?).await?;
    Ok(Found(ServiceAccountDetail { account: account.into(), keys: keys.iter().map(key_view).collect() }))
}

pub(super) async fn disable(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<ServiceAccount>> {
    let (project, id) = (call.id("project_id")?, call.id("service_account_id")?);
    call.commit(service_accounts::disable(&call, project, id, reason(&because)?).await?).await
}

pub(super) async fn rotate_key(
    call: Call,
    MaybeBody(request): MaybeBody<RotateKey>,
) -> ApiResult<Found<ServiceAccountWithKey>> {
    let (project, id) = (call.id("project_id")?, call.id("service_account_id")?);
    let choice =
        KeyChoice::parse(request.public_key.as_deref(), request.key_delivery == KeyDelivery::Wrapped)?;
    let prepared = service_accounts::rotate_key(&call, project, id, choice, request.overlap_seconds).await?;
    call.commit(prepared.map(with_key)).await
}

pub(super) async fn delete(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<NoContent> {
    let (project, id) = (call.id("project_id")?, call.id("service_account_id")?);
    call.commit(service_accounts::delete(&call, project, id, reason(&because)?).await?).await
}
