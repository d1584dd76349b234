//! Signing in and out, personal tokens, machine tokens.

use aide::OperationOutput;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use gpuaas_api::auth::{
    AccessToken, AssertionExchange, CreatedPersonalToken, CredentialKind, GrantView, LoginLinkQuery,
    LoginRequest, NewPersonalToken, PasswordChange, PersonalToken, PrincipalKind, UnwrapRequest, Unwrapped,
    Whoami,
};
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::User;
use gpuaas_control_plane::operations::own_account::SignedIn;
use gpuaas_control_plane::operations::{authenticate, custody, own_account};
use gpuaas_control_plane::{Credential, Known};
use gpuaas_domain::text::{DisplayName, Email};
use gpuaas_domain::{Error, Secret, identity};

use super::door::App;
use super::extract::{Body, Call, Parsing, Query, page_request, parsed};
use super::origin::OwnOrigins;
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};
use super::shell;

/// A success that also sets the session cookie.
pub(super) struct WithCookie<R>(R, HeaderValue);

impl<R: IntoResponse> IntoResponse for WithCookie<R> {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response.headers_mut().append(header::SET_COOKIE, self.1);
        response
    }
}

impl<R: OperationOutput> OperationOutput for WithCookie<R> {
    type Inner = R::Inner;

    fn inferred_responses(
        context: &mut aide::generate::GenContext,
        operation: &mut aide::openapi::Operation,
    ) -> Vec<(Option<aide::openapi::StatusCode>, aide::openapi::Response)> {
        R::inferred_responses(context, operation)
    }
}

fn cookie(app: &App, value: &str, seconds: i64) -> ApiResult<HeaderValue> {
    let secure = if app.secure_cookies { "; Secure" } else { "" };
    let text =
        format!("{}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}", app.cookie_name);
    let mut header =
        HeaderValue::from_str(&text).map_err(|_| Error::internal("a cookie has odd characters"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn session_cookie(call: &Call, signed_in: &SignedIn) -> ApiResult<HeaderValue> {
    let seconds = signed_in.expires_at.seconds_since(call.now());
    cookie(&call.app, signed_in.cookie.expose(), seconds)
}

pub(super) async fn login(
    call: Call,
    headers: HeaderMap,
    Body(request): Body<LoginRequest>,
) -> ApiResult<WithCookie<Found<User>>> {
    call.app.origins.check_sign_in(&headers)?;
    // Owed before the hash is compared, so that many guesses at once are no way around; what can be nobody's
    // address shares one bucket.
    let account = Email::parse(&request.email).map_or_else(|_| String::new(), String::from);
    let from_here = format!("{account} {}", call.peer);
    call.app.wrong_passwords.take(from_here.clone(), call.now())?;
    call.app.wrong_passwords_anywhere.take(account.clone(), call.now())?;
    let outcome = own_account::sign_in(&call, &request.email, &request.password).await;
    if outcome.as_ref().err().is_some_and(|error| error.code() == "invalid_credentials") {
        call.app.metrics.anonymous_denials.inc();
    } else {
        call.app.wrong_passwords.give_back(&from_here, call.now());
        call.app.wrong_passwords_anywhere.give_back(&account, call.now());
    }
    let prepared = outcome?;
    let signed_in = prepared.commit(None).await?;
    let cookie = session_cookie(&call, &signed_in)?;
    Ok(WithCookie(Found(signed_in.user.into()), cookie))
}

/// Goes on to a page of the shell.
pub(super) struct SeeOther(&'static str);

impl IntoResponse for SeeOther {
    fn into_response(self) -> Response {
        (axum::http::StatusCode::SEE_OTHER, [(header::LOCATION, self.0)]).into_response()
    }
}

impl OperationOutput for SeeOther {
    type Inner = ();

    fn inferred_responses(
        _: &mut aide::generate::GenContext,
        _: &mut aide::openapi::Operation,
    ) -> Vec<(Option<aide::openapi::StatusCode>, aide::openapi::Response)> {
        let response =
            aide::openapi::Response { description: "Signed in; go on.".into(), ..Default::default() };
        vec![(Some(aide::openapi::StatusCode::Code(303)), response)]
    }
}

pub(super) async fn login_link(
    call: Call,
    headers: HeaderMap,
    Query(query): Query<LoginLinkQuery>,
) -> ApiResult<LinkAnswer> {
    OwnOrigins::check_followed(&headers)?;
    let signed_in = match own_account::sign_in_by_link(&call, &query.code).await {
        Ok(prepared) => prepared.commit(None).await?,
        // Who clicked it sees the sign-in page and why, not JSON; programs get the refusal.
        Err(error) if error.code() == "invalid_link" && shell::wants_page(&headers) => {
            return Ok(LinkAnswer::Refused(SeeOther("/sign-in?problem=invalid_link")));
        }
        Err(error) => return Err(error.into()),
    };
    let cookie = session_cookie(&call, &signed_in)?;
    Ok(LinkAnswer::SignedIn(WithCookie(SeeOther("/"), cookie)))
}

/// Where a one-time link leads.
pub(super) enum LinkAnswer {
    SignedIn(WithCookie<SeeOther>),
    Refused(SeeOther),
}

impl IntoResponse for LinkAnswer {
    fn into_response(self) -> Response {
        match self {
            Self::SignedIn(answer) => answer.into_response(),
            Self::Refused(answer) => answer.into_response(),
        }
    }
}

impl OperationOutput for LinkAnswer {
    type Inner = ();

    fn inferred_responses(
        context: &mut aide::generate::GenContext,
        operation: &mut aide::openapi::Operation,
    ) -> Vec<(Option<aide::openapi::StatusCode>, aide::openapi::Response)> {
        SeeOther::inferred_responses(context, operation)
    }
}

pub(super) async fn logout(call: Call) -> ApiResult<WithCookie<NoContent>> {
    let reply: NoContent = call.commit(own_account::sign_out(&call).await?).await?;
    Ok(WithCookie(reply, cookie(&call.app, "", 0)?))
}

pub(super) async fn whoami(call: Call) -> ApiResult<Found<Whoami>> {
    Ok(Found(view(call.known()?)))
}

fn view(known: &Known) -> Whoami {
    let (kind, name, display_name) = match (&known.user, &known.account) {
        (Some(user), _) => (PrincipalKind::User, user.email.clone(), user.display_name.clone()),
        (None, Some(account)) => (PrincipalKind::ServiceAccount, account.name.clone(), account.name.clone()),
        (None, None) => (PrincipalKind::ServiceAccount, String::new(), String::new()),
    };
    let credential = match known.credential {
        Credential::Session(_) => CredentialKind::Session,
        Credential::PersonalToken(_) => CredentialKind::PersonalToken,
        // No route for nodes asks this.
        Credential::ServiceAccountToken(_) | Credential::NodeToken | Credential::InstanceToken { .. } => {
            CredentialKind::ServiceAccountToken
        }
    };
    let grants = known.grants.iter().map(|grant| GrantView {
        role_id: grant.role,
        role: grant.role_slug.clone(),
        scope: grant.scope.into(),
        permissions: grant.permissions.iter().map(|permission| permission.key().to_owned()).collect(),
    });
    Whoami {
        kind,
        id: known.actor.id(),
        name,
        display_name,
        tenant_id: known.account.as_ref().map(|account| account.tenant_id),
        project_id: known.account.as_ref().map(|account| account.project_id),
        grants: grants.collect(),
        credential,
        expires_at: Some(known.expires_at),
    }
}

pub(super) async fn change_password(call: Call, Body(request): Body<PasswordChange>) -> ApiResult<NoContent> {
    let account = call.known()?.actor.id();
    call.app.wrong_passwords.take(account.clone(), call.now())?;
    let outcome = own_account::change_password(&call, &request.current_password, &request.new_password).await;
    let wrong = |error: &Error| error.field_errors().iter().any(|field| field.code == "wrong_password");
    if !outcome.as_ref().err().is_some_and(wrong) {
        call.app.wrong_passwords.give_back(&account, call.now());
    }
    call.commit(outcome?).await
}

fn token_view(token: identity::PersonalToken) -> PersonalToken {
    PersonalToken {
        id: token.id,
        name: token.name,
        expires_at: token.expires_at,
        created_at: token.created_at,
    }
}

pub(super) async fn list_tokens(
    call: Call,
    Query(query): Query<PageQuery>,
) -> ApiResult<Found<List<PersonalToken>>> {
    let list = call.list_name("");
    let page = own_account::list_tokens(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page.map(token_view), &list)))
}

fn created(new: own_account::NewToken) -> CreatedPersonalToken {
    let secret = Some(new.secret.expose().clone());
    CreatedPersonalToken { token: token_view(new.token), secret, secret_redacted: false }
}

pub(super) async fn create_token(
    call: Call,
    Body(new): Body<NewPersonalToken>,
) -> ApiResult<Created<CreatedPersonalToken>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/name", DisplayName::parse(&new.name));
    parsing.finish()?;
    let prepared = own_account::create_token(&call, parsed(name)?, new.expires_in_days).await?;
    call.commit(prepared.map(created)).await
}

pub(super) async fn revoke_token(call: Call) -> ApiResult<NoContent> {
    call.commit(own_account::revoke_token(&call, call.id("token_id")?).await?).await
}

pub(super) async fn exchange(
    call: Call,
    Body(request): Body<AssertionExchange>,
) -> ApiResult<Found<AccessToken>> {
    let prepared =
        authenticate::exchange(&call, &request.assertion, request.ttl_seconds).await.inspect_err(|_| {
            call.app.metrics.anonymous_denials.inc();
        })?;
    let issued = prepared.commit(None).await?;
    Ok(Found(AccessToken {
        access_token: issued.token.expose().clone(),
        token_type: "Bearer".into(),
        expires_in: issued.expires_in_seconds,
        expires_at: issued.expires_at,
    }))
}

pub(super) async fn unwrap(call: Call, Body(request): Body<UnwrapRequest>) -> ApiResult<Found<Unwrapped>> {
    let plain = custody::unwrap(&call, &request.token).await?.commit(None).await?;
    let value = String::from_utf8(plain.expose().clone())
        .map(Secret::new)
        .map_err(|_| Error::internal("a wrapped value is not text"))?;
    Ok(Found(Unwrapped { value: value.expose().clone() }))
}
