//! What a request proves itself with: a bearer token, or the browser's session cookie.

use axum::http::{HeaderMap, header};
use gpuaas_api::{Access, Route};
use gpuaas_control_plane::operations::{authenticate, instance_identity, node_identity};
use gpuaas_control_plane::{Caller, Known};
use gpuaas_domain::{Error, Kind, Secret};

use super::door::App;
use super::problem::ApiResult;

/// The credential of a request, for asking again later.
pub(crate) enum Presented {
    Bearer(Secret<String>),
    Cookie(Secret<String>),
}

/// A bearer token, or else the session cookie. A wrong credential is refused even where none would do.
pub(crate) fn presented(app: &App, headers: &HeaderMap) -> ApiResult<Option<Presented>> {
    let invalid = || {
        Error::unauthenticated(
            "invalid_token",
            "The Authorization header cannot be read; send `Bearer` and a token.",
        )
    };
    let mut authorizations = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(value) = authorizations.next() {
        if authorizations.next().is_some() {
            return Err(invalid().into());
        }
        let text = value.to_str().map_err(|_| invalid())?;
        let (scheme, token) = text.split_once(' ').ok_or_else(invalid)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(invalid().into());
        }
        return Ok(Some(Presented::Bearer(Secret::new(token.trim().to_owned()))));
    }
    let mut found = None;
    for value in headers.get_all(header::COOKIE) {
        for pair in value.to_str().unwrap_or_default().split(';') {
            if let Some((name, content)) = pair.trim().split_once('=')
                && name == app.cookie_name
            {
                if found.is_some() {
                    return Err(Error::unauthenticated(
                        "invalid_token",
                        "The session cookie was sent twice.",
                    )
                    .into());
                }
                found = Some(Presented::Cookie(Secret::new(content.to_owned())));
            }
        }
    }
    Ok(found)
}

pub(super) async fn identify(app: &App, route: Route, headers: &HeaderMap) -> ApiResult<Caller> {
    let (for_nodes, for_instances) =
        (route.row().access == Access::Node, route.row().access == Access::Instance);
    let known = match presented(app, headers)? {
        None => return Ok(Caller::Anonymous),
        Some(Presented::Bearer(token)) if for_nodes => {
            node_identity::bearer(&app.plane, token.expose()).await
        }
        Some(Presented::Bearer(token)) if for_instances => {
            instance_identity::bearer(&app.plane, token.expose()).await
        }
        Some(Presented::Cookie(_)) if for_nodes || for_instances => return Ok(Caller::Anonymous),
        Some(Presented::Bearer(token)) => authenticate::bearer(&app.plane, token.expose()).await,
        Some(Presented::Cookie(token)) => {
            app.origins.check_cookie_use(headers)?;
            if route.row().method.is_mutation() {
                app.origins.check_cookie_call(headers)?;
            }
            authenticate::session_cookie(&app.plane, token.expose()).await
        }
    };
    let known: Known = known.inspect_err(|error| {
        if error.kind() == Kind::Unauthenticated {
            app.metrics.anonymous_denials.inc();
        }
    })?;
    Ok(Caller::Known(Box::new(known)))
}
