//! Who we are, said to nobody but the registry and its token server.
//!
//! A password goes to the registry's own origin after it asked (Basic), or to a token realm that is of the same origin
//! or was allowed by name together with its service. A token goes to the registry's origin. Nothing goes anywhere else:
//! not after a redirect, not to an address with a user in it, not from an encrypted connection to a plain one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode, Url};
use zeroize::Zeroizing;

use super::scope::Scope;
use super::{Ask, ClientError, Registry, Result, read_limited};
use crate::SecretText;
use crate::challenge::{self, Challenge, MAX_TOKEN_BYTES, token_in};

pub enum Credentials {
    /// Shown to the registry or its token server, whichever it asks for.
    Password { user: String, password: SecretText },
    /// Made for this registry already; shown to it at once.
    Token(SecretText),
    /// Made for this registry by somebody who makes another when it is refused. Where the registry would send us for
    /// one is not even read.
    Issued(Arc<dyn TokenSource>),
}

pub type Renewal<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<Arc<SecretText>, String>> + Send + 'a>>;

/// Makes the tokens for one registry.
pub trait TokenSource: Send + Sync {
    /// The one to show now.
    fn token(&self) -> Arc<SecretText>;

    /// Another, because the registry refused this one; or why there is none.
    fn renew<'a>(&'a self, refused: &'a Arc<SecretText>) -> Renewal<'a>;
}

/// A token server beside the registry: exactly this address, for exactly this service. Without the service a registry
/// could ask for a token that opens another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRealm {
    pub url: String,
    pub service: String,
}

impl Credentials {
    fn basic(&self) -> Option<HeaderValue> {
        let Self::Password { user, password } = self else { return None };
        let pair = Zeroizing::new(format!("{user}:{}", password.expose()));
        sensitive(&Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes()))))
    }
}

fn bearer(token: &SecretText) -> Option<HeaderValue> {
    sensitive(&Zeroizing::new(format!("Bearer {}", token.expose())))
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Registry {
    /// What to say with the first request: a token that is there already.
    pub(super) fn known_authorization(&self, scope: &Scope) -> Option<HeaderValue> {
        if let Some(Credentials::Token(token)) = &self.credentials {
            return bearer(token);
        }
        self.tokens.lock().ok()?.get(scope).cloned()
    }

    /// Asks with the token of the moment; if the registry refuses it, once more with the next.
    pub(super) async fn ask_as_issued(&self, ask: &Ask, source: &dyn TokenSource) -> Result<Response> {
        let token = source.token();
        let response = self.ask_following(ask, bearer(&token).as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let had_credentials = response.url().origin() == self.base.origin();
        let unauthorized = |response: &Response| ClientError::Unauthorized {
            url: super::plain(response.url()),
            had_credentials,
        };
        if !had_credentials {
            return Err(unauthorized(&response));
        }
        let token = source.renew(&token).await.map_err(|why| ClientError::NotRenewed { why })?;
        let response = self.ask_following(ask, bearer(&token).as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            Err(unauthorized(&response))
        } else {
            Ok(response)
        }
    }

    /// What to say after the registry asked who we are.
    pub(super) async fn answer_challenge(&self, refusal: &Response, scope: &Scope) -> Result<HeaderValue> {
        let url = refusal.url();
        let headers = refusal.headers().get_all(WWW_AUTHENTICATE).into_iter();
        let asked = challenge::choose(headers.filter_map(|header| header.to_str().ok()));
        let unauthorized = || ClientError::Unauthorized {
            url: super::plain(url),
            had_credentials: self.credentials.is_some(),
        };
        let authorization = match asked {
            None => return Err(ClientError::UnknownChallenge { url: super::plain(url) }),
            // A ready token was refused: there is nothing better to say.
            Some(_) if matches!(self.credentials, Some(Credentials::Token(_))) => return Err(unauthorized()),
            Some(Challenge::Basic) => {
                self.credentials.as_ref().and_then(Credentials::basic).ok_or_else(unauthorized)?
            }
            Some(Challenge::Bearer { realm, service }) => {
                self.fetch_token(&realm, service.as_deref(), scope).await?
            }
        };
        if let Ok(mut tokens) = self.tokens.lock() {
            tokens.insert(scope.clone(), authorization.clone());
        }
        Ok(authorization)
    }

    async fn fetch_token(&self, realm: &str, service: Option<&str>, scope: &Scope) -> Result<HeaderValue> {
        let mut url = self.allowed_realm(realm, service)?;
        let shown = super::plain(&url);
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = service {
                query.append_pair("service", service);
            }
            for word in scope.words() {
                query.append_pair("scope", word);
            }
        }
        let mut request = self.http.request(Method::GET, url.clone());
        if let Some(basic) = self.credentials.as_ref().and_then(Credentials::basic) {
            request = request.header(AUTHORIZATION, basic);
        }
        let mut answer = self.in_time(&url, 0, request.send()).await?.map_err(|source| {
            ClientError::Unreachable { url: shown.clone(), source: source.without_url() }
        })?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(ClientError::Unauthorized {
                    url: shown,
                    had_credentials: self.credentials.is_some(),
                });
            }
            other => {
                return Err(ClientError::Refused { url: shown, status: other.as_u16(), body: String::new() });
            }
        }
        let body = Zeroizing::new(read_limited(self, &mut answer, MAX_TOKEN_BYTES).await?.to_vec());
        let no_token = |why: &str| ClientError::NoToken { realm: shown.clone(), why: why.to_owned() };
        let token = token_in(&body).map_err(|why| no_token(&why.to_string()))?;
        sensitive(&Zeroizing::new(format!("Bearer {}", *token))).ok_or_else(|| no_token("it fits no header"))
    }

    /// The token server's address, if our credentials may go there.
    fn allowed_realm(&self, realm: &str, service: Option<&str>) -> Result<Url> {
        let refused = |realm: &str| ClientError::ForeignRealm { realm: realm.chars().take(200).collect() };
        let url = Url::parse(realm).map_err(|_| refused(realm))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(refused(&url.origin().ascii_serialization()));
        }
        let allowed = |known: &TokenRealm| {
            let same = Url::parse(&known.url).is_ok_and(|known| known == url);
            same && service == Some(known.service.as_str())
        };
        if self.base.scheme() == "https" && url.scheme() != "https" {
            return Err(ClientError::Downgrade { url: super::plain(&url) });
        }
        let at_home = url.origin() == self.base.origin();
        if at_home || self.settings.token_realms.iter().any(allowed) {
            Ok(url)
        } else {
            Err(refused(&super::plain(&url)))
        }
    }
}
