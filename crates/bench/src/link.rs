//! What a node's link costs: the same bytes straight over TCP and through the link, turn by turn, everything on loopback.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpuaas_tunnel::{KeepAlive, Link, Scope, accept, client_config_with_ca, dial, serve, splice};
use http_body_util::{Empty, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::figures::{Goal, Report, float, median};
use crate::{Error, ROUNDS, Result, progress};

const PATIENCE: Duration = Duration::from_secs(10);
const PIECE: usize = 64 << 10;

/// A link with a node on it whose streams lead to two local services.
struct Pair {
    link: Link,
    source: SocketAddr,
    echo: SocketAddr,
    /// What runs for the pair ends with it.
    scope: Scope,
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.link.close();
        self.scope.close();
    }
}

impl Pair {
    async fn connect() -> Result<Self> {
        let scope = Scope::new();
        let source = service(&scope, |mut tcp| async move {
            let piece = vec![7; PIECE];
            while tcp.write_all(&piece).await.is_ok() {}
        })
        .await?;
        let echo = service(&scope, |mut tcp| async move {
            let (mut read, mut write) = tcp.split();
            let _ = tokio::io::copy(&mut read, &mut write).await;
        })
        .await?;
        let (tls, ca) = certificates()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("wss://{}/link", listener.local_addr()?);
        let accepted = async {
            let (tcp, _) = listener.accept().await?;
            tcp.set_nodelay(true)?;
            let tls = TlsAcceptor::from(tls).accept(tcp).await?;
            let socket = tokio_tungstenite::accept_async(tls).await?;
            Ok::<_, Error>(accept(socket.into_inner(), KeepAlive::default()).await?)
        };
        let trust = client_config_with_ca(&ca)?;
        let dialled = async { Ok::<_, Error>(dial(&url, "token", &trust).await?) };
        let (link, io) = Box::pin(async { tokio::try_join!(accepted, dialled) }).await?;
        let node = Scope::new();
        scope.spawn(async move {
            let on = node.clone();
            let answer = service_fn(move |request| connect_to(request, source, echo, on.clone()));
            let _ = serve(io, answer, &node, KeepAlive::default()).await;
        });
        Ok(Self { link, source, echo, scope })
    }

    async fn open(&self, name: &'static str) -> Result<gpuaas_tunnel::LinkStream> {
        let request = Request::connect(name).body(Full::<Bytes>::default())?;
        Ok(self.link.open(request, PATIENCE).await?)
    }
}

async fn connect_to(
    mut request: Request<Incoming>,
    source: SocketAddr,
    echo: SocketAddr,
    scope: Scope,
) -> std::result::Result<hyper::Response<Empty<Bytes>>, Infallible> {
    let address = if request.uri().host() == Some("source") { source } else { echo };
    Ok(match straight(address).await {
        Ok(tcp) => splice(&mut request, tcp, &scope),
        Err(_) => not_there(),
    })
}

pub(crate) fn not_there() -> hyper::Response<Empty<Bytes>> {
    hyper::Response::builder()
        .status(502)
        .body(Empty::new())
        .expect("a status and nothing else make an answer")
}

async fn service<F: Future<Output = ()> + Send + 'static>(
    scope: &Scope,
    each: impl Fn(TcpStream) -> F + Send + 'static,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let inner = scope.clone();
    scope.spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let _ = tcp.set_nodelay(true);
            inner.spawn(each(tcp));
        }
    });
    Ok(address)
}

pub(crate) fn certificates() -> Result<(Arc<rustls::ServerConfig>, String)> {
    let ca_key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let ca = params.self_signed(&ca_key)?;
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()])?
        .signed_by(&key, &Issuer::new(params, ca_key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone(), ca.der().clone()],
            rustls_pki_types::PrivateKeyDer::try_from(key.serialize_der())?,
        )?;
    Ok((Arc::new(config), ca.pem()))
}

pub(crate) async fn straight(to: SocketAddr) -> Result<TcpStream> {
    let tcp = TcpStream::connect(to).await?;
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

pub(crate) async fn measure(round: Duration, report: &mut Report) -> Result {
    let pair = Pair::connect().await?;
    link_throughput(&pair, round, report).await?;
    link_round_trip(&pair, round, report).await
}

/// One download, in megabytes a second.
async fn link_throughput(pair: &Pair, round: Duration, report: &mut Report) -> Result {
    progress("the throughput of a link");
    let (mut direct, mut linked, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let straight = download(straight(pair.source).await?, round / 2).await?;
        let through = download(pair.open("source:1").await?, round / 2).await?;
        direct.push(straight);
        linked.push(through);
        ratios.push(through / straight);
    }
    report.add("one stream, direct TCP", &direct, "MB/s", None);
    report.add("one stream, through a link", &linked, "MB/s", None);
    let goal = Goal::AtLeast(0.15, "TLS and three framings against none");
    report.add("one stream, link to direct", &ratios, "×", Some(goal));
    Ok(())
}

async fn download(mut stream: impl AsyncRead + Unpin, time: Duration) -> Result<f64> {
    let mut piece = vec![0; PIECE];
    // The windows are full and the sender at its pace before the watch starts.
    stream.read_exact(&mut piece).await?;
    let (started, mut bytes) = (Instant::now(), 0);
    while started.elapsed() < time {
        bytes += stream.read(&mut piece).await? as u64;
    }
    Ok(float(bytes) / 1e6 / started.elapsed().as_secs_f64())
}

/// One byte there and back, the median of each round in microseconds.
async fn link_round_trip(pair: &Pair, round: Duration, report: &mut Report) -> Result {
    progress("the round trip of a link");
    let mut straight = straight(pair.echo).await?;
    let mut through = pair.open("echo:1").await?;
    let (mut direct, mut linked, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let one = ping(&mut straight, round / 2).await?;
        let other = ping(&mut through, round / 2).await?;
        direct.push(one);
        linked.push(other);
        added.push(other - one);
    }
    report.add("round trip p50, direct TCP", &direct, "µs", None);
    report.add("round trip p50, through a link", &linked, "µs", None);
    report.add("round trip p50, added by a link", &added, "µs", Some(Goal::Below(200.0, "")));
    Ok(())
}

async fn ping(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), time: Duration) -> Result<f64> {
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < time {
        let sent = Instant::now();
        stream.write_all(b"x").await?;
        stream.read_u8().await?;
        times.push(sent.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&times))
}
