//! The reverse proxy between browsers and apps. One origin for each endpoint; it alone owns sign-in, cookies, origins, frames
//! and policies, and the app only renders.
//!
//! A request passes, in this order: *route* (whose host name is it), *identify* (what opens it, and does its page have the
//! right to use it), *rewrite* (hop-by-hop out, ours in), *proxy or upgrade*, *rewrite* the answer, *count*. None of it asks a
//! database: what the gateway knows is kept fresh in the background ([`Gateway::refresh`]), and what is withdrawn closes.

mod body;
mod cookies;
mod entering;
mod guard;
mod headers;
mod kept;
mod live;
mod names;
mod pages;
mod proxy;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use gpuaas_domain::Secret;
use gpuaas_domain::access::Label;
use gpuaas_program::Spawner;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri, Version};

use body::{Download, Leave, Upload};
use entering::{Authorization, authorization, next_page, peer};
use guard::{Reader, Use};
use headers::{Malformed, Outgoing};
use live::{Admitted, Live, Served};
use pages::Pages;
use proxy::{Connections, Proxy};

pub use live::{Asked, Authority, ByteStream, DialError, Entered, Grant, Passed, Peer, Presented, Refused};
pub use names::{Host, Names, escaped, is_path};
pub use pages::Instead;

/// The path of the gateway's own pages at every endpoint; apps cannot be reached below it.
pub const OWN_PATH: &str = "/.gpuaas/";
/// Where a code becomes a session.
pub const ENTER_PATH: &str = "/.gpuaas/enter";

pub type Body = Either<
    Full<Bytes>,
    http_body_util::combinators::UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>,
>;

pub struct Gateway {
    names: Names,
    /// Of the session with an endpoint. It carries the platform's id, because cookies ignore ports.
    cookie_name: String,
    live: Arc<Live>,
    proxy: Proxy,
    pages: Pages,
}

/// Who comes in.
enum Visitor {
    Known(Arc<Admitted>),
    /// Where everybody may.
    Anybody,
}

impl Visitor {
    fn known(&self) -> Option<&Arc<Admitted>> {
        match self {
            Self::Known(admitted) => Some(admitted),
            Self::Anybody => None,
        }
    }
}

/// A request that ends here.
struct Ends(Instead);

impl From<Instead> for Ends {
    fn from(instead: Instead) -> Self {
        Self(instead)
    }
}

impl From<Malformed> for Ends {
    fn from(malformed: Malformed) -> Self {
        Self(match malformed {
            Malformed::Method => Instead::MethodNotAllowed,
            Malformed::Version => Instead::VersionNotSupported,
            Malformed::Connection | Malformed::Length | Malformed::Upgrade => Instead::BadRequest,
        })
    }
}

impl Gateway {
    pub fn new(names: Names, platform: &str, authority: Arc<dyn Authority>, tasks: Spawner) -> Self {
        let live = Arc::new(Live::new(names.clone(), authority.clone(), tasks.clone()));
        let at_stop = live.clone();
        tasks.spawn(async move { at_stop.let_go_at_stop().await });
        Self {
            cookie_name: format!("__Host-gpuaas_app_{platform}"),
            live,
            proxy: Proxy { authority, tasks },
            pages: Pages::new(&names),
            names,
        }
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Whether a request is the gateway's to answer.
    pub fn is_for_apps(&self, version: Version, uri: &Uri, headers: &HeaderMap) -> bool {
        match self.names.host_of(version, uri, headers) {
            Host::App(_) | Host::Nobody => true,
            Host::Elsewhere => false,
            // Who names two hosts, one of them an app's, gets nowhere; the rest is the platform's to judge.
            Host::Unclear => self.mentions_apps(uri, headers),
        }
    }

    /// Whether a request may come by a connection that was made to this name: to an app's only its own requests, and from
    /// the platform's none to an app.
    pub fn fits(&self, name: &str, version: Version, uri: &Uri, headers: &HeaderMap) -> bool {
        let made_to = self.names.without_port(name);
        match (made_to, self.names.host_of(version, uri, headers)) {
            (Host::App(label), Host::App(other)) => label == other,
            (Host::App(_), _) | (_, Host::App(_)) => false,
            _ => true,
        }
    }

    fn mentions_apps(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let domain = self.names.frame_source();
        let domain = domain.split_once("*.").map_or("", |(_, domain)| domain);
        let named = headers.get_all(header::HOST).iter().filter_map(|host| host.to_str().ok());
        let named = named.chain(uri.authority().map(hyper::http::uri::Authority::as_str));
        named.into_iter().any(|host| host.to_ascii_lowercase().contains(domain))
    }

    /// Asks again about everything in use; revocations reach what is open by this.
    pub async fn refresh(&self) {
        self.live.refresh().await;
    }

    /// What passed since the last time, by endpoint.
    pub fn take_passed(&self) -> Vec<(Label, Passed)> {
        self.live.take_passed()
    }

    pub fn give_back(&self, passed: &[(Label, Passed)]) {
        self.live.give_back(passed);
    }

    pub async fn serve(&self, request: Request<Incoming>) -> Response<Body> {
        let version = request.version();
        // Bytes after a body that two readers may end differently are nobody's request.
        let close = version == Version::HTTP_11
            && (request.headers().contains_key(header::TRANSFER_ENCODING)
                || request.headers().contains_key(header::UPGRADE));
        let reader = Reader::of(request.headers());
        let label = match self.names.host_of(version, request.uri(), request.headers()) {
            Host::App(label) => label,
            Host::Nobody => return self.instead(Instead::NoSuchApp, reader, None, None, close),
            Host::Elsewhere | Host::Unclear => {
                return self.instead(Instead::BadRequest, reader, None, None, close);
            }
        };
        let served = match self.live.route(&label, peer(&request)).await {
            Ok(Some(served)) => served,
            Ok(None) => return self.instead(Instead::NoSuchApp, reader, None, None, close),
            Err(refused) => {
                return self.instead(
                    Instead::unasked(refused, Instead::NoSuchApp),
                    reader,
                    None,
                    None,
                    close,
                );
            }
        };
        // Cheap copies: only a page of ours says where to come back to.
        let (method, uri) = (request.method().clone(), request.uri().clone());
        match self.answer(request, &served).await {
            Ok(mut response) => {
                if close && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
            Err((Ends(instead), inside)) => {
                let route = inside.then_some(&served.route);
                let next = next_page(&method, &uri);
                self.instead(instead, reader, Some((&label, &next)), route, close)
            }
        }
    }

    fn instead(
        &self,
        instead: Instead,
        reader: Reader,
        place: Option<(&Label, &str)>,
        route: Option<&gpuaas_domain::access::EndpointRoute>,
        close: bool,
    ) -> Response<Body> {
        let mut response = self.pages.answer(instead, reader, place, route).map(Either::Left);
        let misunderstood = matches!(
            instead,
            Instead::BadRequest
                | Instead::TooLarge
                | Instead::MethodNotAllowed
                | Instead::VersionNotSupported
        );
        if close || misunderstood {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// With an error, whether the visitor had been let in before it: only then is the app spoken of by name.
    async fn answer(
        &self,
        request: Request<Incoming>,
        served: &Arc<Served>,
    ) -> Result<Response<Body>, (Ends, bool)> {
        let outside = |ends: Ends| (ends, false);
        headers::check(request.method(), request.version(), request.headers())
            .map_err(|bad| outside(bad.into()))?;
        // It would stand between its visitors and the gateway from then on, and read the codes they come in by.
        if request.headers().contains_key("service-worker") {
            return Err(outside(Instead::ServiceWorker.into()));
        }
        if request.uri().path().starts_with(OWN_PATH) {
            return self.own_page(&request, served).await.map_err(outside);
        }
        let socket = headers::socket_wanted(request.method(), request.version(), request.headers())
            .map_err(|bad| outside(bad.into()))?;
        let (visitor, cookie) = self.identify(&request, served, socket).await.map_err(outside)?;
        served.counters.requests.fetch_add(1, Ordering::Relaxed);
        let inside = |ends: Ends| (ends, true);
        if let Some(instead) = Instead::of(&served.route) {
            return Err(inside(instead.into()));
        }
        let place = Connections::take(served).ok_or_else(|| inside(Instead::TooMany.into()))?;
        let leave = || Leave::new(served, visitor.known(), &place);
        let request = self.rewrite(request, served, &visitor, cookie, socket, leave).map_err(inside)?;
        let answer = if socket {
            self.join(request, served, visitor.known(), &place).await
        } else {
            self.pass(request, served, visitor.known(), leave()).await
        };
        answer.map_err(inside)
    }

    /// What opens the endpoint for this request, checked as any other; and what cookies are left for the app.
    async fn identify(
        &self,
        request: &Request<Incoming>,
        served: &Served,
        socket: bool,
    ) -> Result<(Visitor, Option<HeaderValue>), Ends> {
        let headers = request.headers();
        let jar = cookies::take_apart(headers, &self.cookie_name).map_err(|()| Instead::BadRequest)?;
        let open = self.proxy.authority.is_open(&served.route);
        let authorization = authorization(headers)?;
        let check = |using| {
            guard::check(using, request.method(), headers, socket, &served.origin)
                .map_err(|_| Ends(Instead::CrossOrigin))
        };
        let presented = match (authorization, jar.ours) {
            (Authorization::Token(token), _) => {
                check(Use::Token)?;
                Presented::Token(token)
            }
            (_, Some(cookie)) => {
                // Before the cookie is looked at: another page learns nothing about it.
                check(Use::Cookie)?;
                Presented::Cookie(Secret::new(cookie))
            }
            (_, None) if open => {
                check(Use::Token)?;
                return Ok((Visitor::Anybody, jar.rest));
            }
            (Authorization::Absent, None) => return Err(Instead::SessionRequired.into()),
            (Authorization::Other, None) => return Err(Instead::InvalidToken.into()),
        };
        let by_token = matches!(presented, Presented::Token(_));
        match self.live.admit(served, presented, peer(request)).await {
            Ok(admitted) => Ok((Visitor::Known(admitted), jar.rest)),
            Err(Refused::No) if open && !by_token => Ok((Visitor::Anybody, jar.rest)),
            Err(refused) => {
                let no = if by_token { Instead::InvalidToken } else { Instead::SessionRequired };
                Err(Instead::unasked(refused, no).into())
            }
        }
    }

    fn rewrite(
        &self,
        request: Request<Incoming>,
        served: &Served,
        visitor: &Visitor,
        cookie: Option<HeaderValue>,
        socket: bool,
        leave: impl FnOnce() -> Leave,
    ) -> Result<Request<UploadOrUpgrade>, Ends> {
        let at_most = served.route.policy.max_body_mib.map(|mib| u64::from(mib) << 20);
        if at_most.is_some_and(|most| request.body().size_hint().lower() > most) {
            return Err(Instead::TooLarge.into());
        }
        let (mut parts, body) = request.into_parts();
        if !parts.headers.contains_key(header::HOST)
            && let Some(authority) = parts.uri.authority()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            parts.headers.insert(header::HOST, host);
        }
        guard::show_origin(&mut parts.headers, &served.origin);
        let identity = visitor.known().and_then(|admitted| admitted.identity());
        let keep_authorization = visitor.known().is_none();
        headers::to_app(
            &mut parts.headers,
            Outgoing { names: &self.names, cookie, identity, keep_authorization, socket },
        );
        if !body.is_end_stream() && body.size_hint().exact().is_none() {
            // Said explicitly, or a GET's body would be dropped without a word.
            parts.headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map_or_else(Uri::default, Uri::from);
        parts.version = Version::HTTP_11;
        // What the server attached to the request is not the app's.
        let near = parts.extensions.remove::<hyper::upgrade::OnUpgrade>();
        parts.extensions.clear();
        let body = Upload::new(body, leave, at_most);
        Ok(Request::from_parts(parts, UploadOrUpgrade { body, near }))
    }

    async fn pass(
        &self,
        request: Request<UploadOrUpgrade>,
        served: &Arc<Served>,
        owner: Option<&Arc<Admitted>>,
        leave: Leave,
    ) -> Result<Response<Body>, Ends> {
        let request = request.map(|both| both.body);
        let sending = self.proxy.send(served, owner, request);
        // An app may think for minutes; access that ends meanwhile ends this too.
        let (response, returning) = tokio::select! {
            answer = sending => answer?,
            () = served.ended.cancelled() => return Err(self.why_ended(served).await.into()),
            () = live::ended(owner) => return Err(Instead::SessionRequired.into()),
        };
        // An answer to what nobody asked: an upgrade, or a version that ends with the connection.
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Instead::NotAnswering.into());
        }
        let (mut parts, body) = response.into_parts();
        served.shield.to_browser(&mut parts.headers);
        parts.version = Version::HTTP_11;
        let extensions = std::mem::take(&mut parts.extensions);
        drop(extensions);
        let body = Download::new(body, leave, returning);
        Ok(Response::from_parts(parts, Either::Right(body.boxed_unsync())))
    }

    /// What to say to somebody who waited while the endpoint changed.
    async fn why_ended(&self, served: &Served) -> Instead {
        match self.live.route(&served.route.label, None).await {
            // It runs, elsewhere or anew; asking again finds it.
            Ok(Some(now)) => Instead::of(&now.route).unwrap_or(Instead::Starting),
            Ok(None) => Instead::NoSuchApp,
            Err(_) => Instead::Unavailable,
        }
    }

    async fn join(
        &self,
        request: Request<UploadOrUpgrade>,
        served: &Arc<Served>,
        owner: Option<&Arc<Admitted>>,
        place: &Arc<Connections>,
    ) -> Result<Response<Body>, Ends> {
        let (parts, both) = request.into_parts();
        let near = both.near.ok_or(Instead::BadRequest)?;
        let upgrading = self.proxy.upgrade(served, Request::from_parts(parts, both.body));
        let mut response = tokio::select! {
            answer = upgrading => answer?,
            () = served.ended.cancelled() => return Err(self.why_ended(served).await.into()),
            () = live::ended(owner) => return Err(Instead::SessionRequired.into()),
        };
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let (mut parts, body) = response.into_parts();
            served.shield.to_browser(&mut parts.headers);
            parts.extensions.clear();
            let body = Download::new(body, Leave::new(served, owner, place), None);
            return Ok(Response::from_parts(parts, Either::Right(body.boxed_unsync())));
        }
        let agreed = response.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
        if !agreed.is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
            return Err(Instead::NotAnswering.into());
        }
        let far = hyper::upgrade::on(&mut response);
        self.proxy.join(near, far, served.clone(), owner.cloned(), place.clone());
        let mut joined = Response::new(Either::Left(Full::default()));
        *joined.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = joined.headers_mut();
        for name in
            [header::SEC_WEBSOCKET_ACCEPT, header::SEC_WEBSOCKET_PROTOCOL, header::SEC_WEBSOCKET_EXTENSIONS]
        {
            if let Some(value) = response.headers().get(&name) {
                headers.insert(name, value.clone());
            }
        }
        for cookie in response.headers().get_all(header::SET_COOKIE).iter().filter_map(cookies::confine) {
            headers.append(header::SET_COOKIE, cookie);
        }
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        Ok(joined)
    }
}

/// A request's body, and the means to take its connection over.
struct UploadOrUpgrade {
    body: Upload,
    near: Option<hyper::upgrade::OnUpgrade>,
}
