//! A platform that accepts links and a node that dials them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use gpuaas_tunnel::{
    Error, KeepAlive, Link, Scope, accept, client_config_with_ca, dial, handshake_answer, serve, splice,
};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const TOKEN: &str = "the-token";

pub(crate) struct Authority {
    pub(crate) certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A leaf for one name, with a chain to show.
    pub(crate) fn server(&self, name: &str, shown: &[&Self]) -> Arc<rustls::ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        let mut chain = vec![leaf.der().clone()];
        chain.extend(shown.iter().map(|authority| authority.certificate.der().clone()));
        Self::presenting(chain, &key)
    }

    /// The CA's own certificate and key used as a server's.
    pub(crate) fn itself(&self) -> Arc<rustls::ServerConfig> {
        Self::presenting(vec![self.certificate.der().clone()], self.issuer.key())
    }

    fn presenting(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Arc<rustls::ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).unwrap())
            .unwrap();
        Arc::new(config)
    }
}

type Accepted = Result<Link, Error>;

/// Accepts links for as long as the test runs.
pub(crate) struct Platform {
    pub(crate) address: SocketAddr,
    pub(crate) authority: Authority,
    pub(crate) links: mpsc::UnboundedReceiver<Accepted>,
}

pub(crate) async fn platform(keep_alive: KeepAlive) -> Platform {
    let authority = Authority::new();
    let tls = authority.server("127.0.0.1", &[&authority]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (found, links) = mpsc::unbounded_channel();
    let scope = Scope::new();
    let inner = scope.clone();
    scope.spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let (acceptor, found, scope) = (TlsAcceptor::from(tls.clone()), found.clone(), inner.clone());
            inner.spawn(async move {
                let Ok(tls) = acceptor.accept(tcp).await else { return };
                let answer = service_fn(move |request| {
                    let answer = upgrade(request, &scope, &found, keep_alive);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(tls), answer)
                    .with_upgrades()
                    .await;
            });
        }
    });
    Platform { address, authority, links }
}

fn upgrade(
    mut request: Request<Incoming>,
    scope: &Scope,
    found: &mpsc::UnboundedSender<Accepted>,
    keep_alive: KeepAlive,
) -> Response<Full<Bytes>> {
    let expected = format!("Bearer {TOKEN}");
    if request.headers().get("authorization").is_none_or(|value| value != expected.as_str()) {
        return Response::builder().status(401).body(Full::from("who are you?")).unwrap();
    }
    let answer = handshake_answer(request.headers()).expect("a handshake");
    let (upgrade, found) = (hyper::upgrade::on(&mut request), found.clone());
    scope.spawn(async move {
        if let Ok(io) = upgrade.await {
            let _ = found.send(accept(TokioIo::new(io), keep_alive).await);
        }
    });
    answer.map(|()| Full::default())
}

impl Platform {
    pub(crate) fn url(&self) -> String {
        format!("wss://{}/link", self.address)
    }

    pub(crate) fn trust(&self) -> rustls::ClientConfig {
        client_config_with_ca(&self.authority.certificate.pem()).unwrap()
    }

    pub(crate) async fn next(&mut self) -> Accepted {
        tokio::time::timeout(PATIENCE, self.links.recv()).await.expect("a link in time").unwrap()
    }

    /// A node dials; both ends of its link.
    pub(crate) async fn connect(&mut self) -> (Link, Node) {
        self.connect_with(KeepAlive::default(), &self.url()).await
    }

    pub(crate) async fn connect_with(&mut self, keep_alive: KeepAlive, url: &str) -> (Link, Node) {
        let io = dial(url, TOKEN, &self.trust()).await.unwrap();
        let node = Node::serve(io, keep_alive).await;
        (self.next().await.unwrap(), node)
    }
}

/// The dialling end, serving.
pub(crate) struct Node {
    pub(crate) scope: Scope,
    pub(crate) ended: mpsc::UnboundedReceiver<Result<(), Error>>,
}

impl Node {
    pub(crate) async fn serve(io: gpuaas_tunnel::Dialled, keep_alive: KeepAlive) -> Self {
        let (scope, outside) = (Scope::new(), Scope::new());
        let (say, ended) = mpsc::unbounded_channel();
        let locals = Locals::start(&outside).await;
        let inner = scope.clone();
        outside.spawn(async move {
            let on = inner.clone();
            let service = service_fn(move |request| {
                let (locals, scope) = (locals.clone(), on.clone());
                async move { Ok::<_, Infallible>(answer(request, &locals, &scope).await) }
            });
            let _ = say.send(serve(io, service, &inner, keep_alive).await);
        });
        Self { scope, ended }
    }

    pub(crate) async fn end(&mut self) -> Result<(), Error> {
        tokio::time::timeout(PATIENCE, self.ended.recv()).await.expect("an end in time").unwrap()
    }
}

/// What listens on the node.
#[derive(Clone)]
struct Locals {
    echo: SocketAddr,
    flood: SocketAddr,
    count: SocketAddr,
}

async fn local<F: Future<Output = ()> + Send + 'static>(
    scope: &Scope,
    each: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let inner = scope.clone();
    scope.spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            inner.spawn(each(tcp));
        }
    });
    address
}

impl Locals {
    async fn start(scope: &Scope) -> Self {
        let echo = |mut tcp: TcpStream| async move {
            let (mut read, mut write) = tcp.split();
            let _ = tokio::io::copy(&mut read, &mut write).await;
            let _ = write.shutdown().await;
        };
        let flood = |mut tcp: TcpStream| async move {
            let chunk = vec![7; 64 << 10];
            while tcp.write_all(&chunk).await.is_ok() {}
        };
        // Says nothing until the other side has ended its direction.
        let count = |mut tcp: TcpStream| async move {
            let mut all = Vec::new();
            tcp.read_to_end(&mut all).await.unwrap();
            tcp.write_all(format!("{} bytes", all.len()).as_bytes()).await.unwrap();
        };
        Self {
            echo: local(scope, echo).await,
            flood: local(scope, flood).await,
            count: local(scope, count).await,
        }
    }
}

type Answer = Response<BoxBody<Bytes, hyper::Error>>;

fn words(status: StatusCode, text: &'static str) -> Answer {
    let body = Full::from(text).map_err(|never| match never {}).boxed();
    Response::builder().status(status).body(body).unwrap()
}

async fn answer(mut request: Request<Incoming>, locals: &Locals, scope: &Scope) -> Answer {
    if request.method() == Method::CONNECT {
        let address = match request.uri().host() {
            Some("echo") => locals.echo,
            Some("flood") => locals.flood,
            Some("count") => locals.count,
            _ => return words(StatusCode::FORBIDDEN, "no such port"),
        };
        let Ok(tcp) = TcpStream::connect(address).await else {
            return words(StatusCode::BAD_GATEWAY, "nobody listens");
        };
        let spliced = splice(&mut request, tcp, scope);
        return spliced.map(|body: Empty<Bytes>| body.map_err(|never| match never {}).boxed());
    }
    match request.uri().path() {
        "/small" => words(StatusCode::OK, "small"),
        "/hollow" => {
            let hollow = (0..500).map(|_| Bytes::new()).chain([Bytes::from("at last")]);
            let body = futures_util::stream::iter(hollow.map(|piece| Ok(Frame::data(piece))));
            Response::new(StreamBody::new(body).boxed())
        }
        "/never" => std::future::pending().await,
        "/echo" => {
            let body = request.into_body().into_data_stream().map_ok(Frame::data);
            Response::new(StreamBody::new(body).boxed())
        }
        _ => words(StatusCode::NOT_FOUND, "nothing here"),
    }
}

pub(crate) fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("http://node{path}")).body(Full::default()).unwrap()
}

pub(crate) fn connect(authority: &str) -> Request<Full<Bytes>> {
    Request::connect(authority).body(Full::default()).unwrap()
}

pub(crate) async fn text(response: Response<Incoming>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}
