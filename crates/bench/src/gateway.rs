//! Our gateway against what else could stand in front of an app: nginx and the proxy that JupyterHub uses, each before the same
//! app, and the app alone. All are processes on loopback and take turns. Ours stands there twice: before an app that a plain
//! connection reaches, as the others, and before one behind a node's link.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _, TryStreamExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::daemon::{Daemon, NGINX, PATIENCE, free_address, over};
use crate::figures::{Goal, Report, float, median};
use crate::process::{cpu_seconds, resident_mib};
use crate::{ROUNDS, Result, http, progress, stage};

const CONNECTIONS: usize = 32;
const PAGE: usize = 1024;
const MESSAGE: &str = "sixty-four bytes are what a small message of a kernel's socket has";
const IDLE: u64 = 10_000;
/// What a browser says with every request of a page.
const BROWSER: &str = "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n\
     Accept: text/html,application/xhtml+xml\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n\
     Accept-Encoding: gzip\r\n";

const OURS: &str = "ours";
const LINKED: &str = "ours, through a link";
const NGINX_WAY: &str = "nginx";
const CHP: &str = "configurable-http-proxy";
const DIRECT: &str = "direct";
const PROXIES: [&str; 4] = [OURS, LINKED, NGINX_WAY, CHP];

/// One way to the app, and what was seen on it.
struct Way {
    name: &'static str,
    server: Daemon,
    host: String,
    /// The node of a linked way.
    node: Option<Daemon>,
    rates: Vec<f64>,
    p99_ms: Vec<f64>,
    requests: f64,
    cpu: f64,
    node_cpu: f64,
}

impl Way {
    fn new(name: &'static str, server: Daemon, host: String) -> Self {
        let (rates, p99_ms) = (Vec::new(), Vec::new());
        Self { name, server, host, node: None, rates, p99_ms, requests: 0.0, cpu: 0.0, node_cpu: 0.0 }
    }

    fn processes(&self) -> impl Iterator<Item = u32> {
        [&self.server].into_iter().chain(&self.node).map(|daemon| daemon.child.id())
    }

    /// CPU time of the proxy itself and of its node.
    fn spent(&self) -> Result<(f64, f64)> {
        Ok((
            self.server.cpu_seconds()?,
            self.node.as_ref().map_or(Ok(0.0), |node| cpu_seconds(node.child.id()))?,
        ))
    }

    fn microseconds(&self) -> f64 {
        self.cpu / self.requests * 1e6
    }
}

fn find<'a>(ways: &'a [Way], name: &str) -> Result<&'a Way> {
    ways.iter().find(|way| way.name == name).ok_or_else(|| format!("{name} is not measured").into())
}

pub(crate) async fn measure(chp: Option<&Path>, round: Duration, report: &mut Report) -> Result {
    if !Path::new(NGINX).exists() {
        report.note(format!("The gateway was not measured: {NGINX} is missing."));
        return Ok(());
    }
    if chp.is_none() {
        report.note("configurable-http-proxy was not measured: it is not installed.");
    }
    let folder = tempfile::tempdir()?;
    let measured = async {
        measure_requests(chp, folder.path(), round, report).await?;
        measure_sockets(chp, folder.path(), round, report).await
    };
    measured.await.map_err(|error| {
        let said = std::fs::read_to_string(folder.path().join("error.log")).unwrap_or_default();
        format!("{error}; nginx said last: {}", said.lines().last().unwrap_or("nothing")).into()
    })
}

// --- requests -------------------------------------------------------------------------------------------------------

async fn measure_requests(chp: Option<&Path>, folder: &Path, round: Duration, report: &mut Report) -> Result {
    progress("the gateway");
    std::fs::write(folder.join("page"), vec![b'x'; PAGE])?;
    let app = nginx(folder, "app", |place| format!("root {place}; default_type text/html;"))?;
    let mut ways = open_ways(app, chp, folder)?;
    for number in 0..=ROUNDS as usize {
        for turn in 0..ways.len() {
            let side = (turn + number) % ways.len();
            let way = &mut ways[side];
            let request = format!(
                "GET /page HTTP/1.1\r\nHost: {}\r\nCookie: theme=dark; {}\r\n{BROWSER}\r\n",
                way.host,
                stage::COOKIE
            );
            let before = way.spent()?;
            let load =
                http::load(way.server.address, request.as_bytes(), CONNECTIONS, round, usize::MAX).await?;
            // The first round warms up.
            if number > 0 {
                way.rates.push(load.requests / load.seconds);
                way.p99_ms.push(load.p99_ms);
                way.requests += load.requests;
                let after = way.spent()?;
                way.cpu += after.0 - before.0;
                way.node_cpu += after.1 - before.1;
            }
        }
    }
    tell_requests(&ways, report)
}

fn tell_requests(ways: &[Way], report: &mut Report) -> Result {
    let (ours, linked, nginx) = (find(ways, OURS)?, find(ways, LINKED)?, find(ways, NGINX_WAY)?);
    let goal = Goal::AtLeast(0.9, "of nginx");
    report.add("gateway.requests", &over(&ours.rates, &nginx.rates), "×", Some(goal));
    let cpu = ours.microseconds() / nginx.microseconds();
    report.add("gateway.cpu", &[cpu], "×", Some(Goal::Below(1.3, "of nginx")));
    let added: Vec<f64> = ours.p99_ms.iter().zip(&nginx.p99_ms).map(|(ours, nginx)| ours - nginx).collect();
    report.add("gateway.added_p99 over nginx", &added, "ms", Some(Goal::Below(2.0, "")));
    if let Ok(chp) = find(ways, CHP) {
        let ten = Goal::AtLeast(10.0, "times JupyterHub's proxy");
        let name = "gateway.requests over configurable-http-proxy";
        report.add(name, &over(&ours.rates, &chp.rates), "×", Some(ten));
    }
    let name = "gateway.requests through a link";
    report.add(name, &over(&linked.rates, &nginx.rates), "× nginx", None);
    for way in ways {
        let node = match way.node {
            Some(_) => format!(" and {:.1} µs of its node's", way.node_cpu / way.requests * 1e6),
            None => String::new(),
        };
        report.note(format!(
            "gateway, {}: {:.0}/s, {:.1} µs of its own CPU time{node} for a request, p99 {:.2} ms.",
            way.name,
            median(&way.rates),
            way.microseconds(),
            median(&way.p99_ms)
        ));
    }
    report.note(format!(
        "gateway: a page of {} KiB, {CONNECTIONS} kept-alive connections, loopback, no TLS in front. Ours checks a session and the \
         origin, rewrites headers both ways and counts; nginx passes on with kept-alive connections to the same app. The load \
         and the app run on the same cores.",
        float(PAGE as u64) / 1024.0
    ));
    Ok(())
}

// --- sockets --------------------------------------------------------------------------------------------------------

type Socket = WebSocketStream<TcpStream>;

async fn measure_sockets(chp: Option<&Path>, folder: &Path, round: Duration, report: &mut Report) -> Result {
    progress("WebSockets through the gateway");
    let mut ways = open_ways(stage::start_echo()?, chp, folder)?;
    let mut sockets = Vec::new();
    for way in &ways {
        sockets.push(open_socket(way).await?);
    }
    for number in 0..=ROUNDS as usize {
        for turn in 0..ways.len() {
            let side = (turn + number) % ways.len();
            let (started, mut there_and_back) = (Instant::now(), 0);
            while started.elapsed() < round {
                speak(&mut sockets[side]).await?;
                there_and_back += 1;
            }
            if number > 0 {
                ways[side].rates.push(float(there_and_back) / started.elapsed().as_secs_f64());
            }
        }
    }
    drop(sockets);
    let nginx = find(&ways, NGINX_WAY)?;
    let goal = Goal::AtLeast(1.0, "of nginx");
    report.add("gateway.round_trips", &over(&find(&ways, OURS)?.rates, &nginx.rates), "×", Some(goal));
    let linked = over(&find(&ways, LINKED)?.rates, &nginx.rates);
    report.add("gateway.round_trips through a link", &linked, "× nginx", None);
    for way in &ways {
        let rate = median(&way.rates);
        report.note(format!(
            "sockets, {}: {rate:.0} round trips a second on one, {:.0} µs each.",
            way.name,
            1e6 / rate
        ));
    }
    drop(ways);
    measure_idle(chp, folder, report).await
}

/// Each way with a proxy and an app of its own: what others have closed still takes ports of this machine. A way holds as many
/// as its process may have files for; the gateway behind a link needs one for each, a plain proxy two.
async fn measure_idle(chp: Option<&Path>, folder: &Path, report: &mut Report) -> Result {
    let files = open_files()?.saturating_sub(200);
    for name in PROXIES {
        let app = stage::start_echo()?;
        let Some(way) = open_way(name, app.address, chp, folder)? else { continue };
        progress(&format!("idle sockets, {name}"));
        let count = IDLE.min(if way.node.is_some() { files } else { files / 2 });
        let memory = |way: &Way| way.processes().map(resident_mib).collect::<Result<Vec<_>>>();
        // What is made once is not a socket's cost.
        let first = open_socket(&way).await?;
        let before = memory(&way)?;
        let opening = futures_util::stream::iter(1..count).map(|_| open_socket(&way));
        let mut open: Vec<Socket> = opening.buffer_unordered(32).try_collect().await?;
        let grown: Vec<f64> =
            memory(&way)?.iter().zip(&before).map(|(after, before)| after - before).collect();
        open.push(first);
        for socket in open.iter_mut().step_by(100) {
            speak(socket).await?;
        }
        if way.node.is_some() {
            let goal = Goal::Below(500.0, "all of them, the gateway");
            let all = grown[0] * float(IDLE) / float(count);
            report.add("gateway.10 000 idle sockets through a link", &[all], "MiB", Some(goal));
        }
        let node = grown.get(1).map_or_else(String::new, |node| format!(" and {node:.0} MiB of its node"));
        report.note(format!(
            "idle sockets, {name}: {count} open, {:.0} MiB{node}; every hundredth answered.",
            grown[0]
        ));
    }
    Ok(())
}

fn open_files() -> Result<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line =
        limits.lines().find(|line| line.starts_with("Max open files")).ok_or("no limit of open files")?;
    Ok(line.split_whitespace().nth(3).ok_or("no limit of open files")?.parse().unwrap_or(u64::MAX))
}

async fn open_socket(way: &Way) -> Result<Socket> {
    let mut request = format!("ws://{}/socket", way.host).into_client_request()?;
    request.headers_mut().insert("origin", format!("http://{}", way.host).parse()?);
    request.headers_mut().insert("cookie", stage::COOKIE.parse()?);
    let tcp = TcpStream::connect(way.server.address).await?;
    tcp.set_nodelay(true)?;
    let opening = tokio_tungstenite::client_async_with_config(request, tcp, Some(stage::small_buffers()));
    let (socket, _) = timeout(PATIENCE, opening).await??;
    Ok(socket)
}

async fn speak(socket: &mut Socket) -> Result {
    socket.send(Message::text(MESSAGE)).await?;
    loop {
        let heard = timeout(PATIENCE, socket.next()).await?.ok_or("a socket was closed")??;
        if heard.is_text() {
            return if heard.to_text()? == MESSAGE {
                Ok(())
            } else {
                Err("a socket gave back something else".into())
            };
        }
    }
}

// --- the ways -------------------------------------------------------------------------------------------------------

/// Every way to this app, and the app itself.
fn open_ways(app: Daemon, chp: Option<&Path>, folder: &Path) -> Result<Vec<Way>> {
    let mut ways = Vec::new();
    for name in PROXIES {
        ways.extend(open_way(name, app.address, chp, folder)?);
    }
    ways.push(Way::new(DIRECT, app, "app".into()));
    Ok(ways)
}

fn open_way(name: &'static str, app: SocketAddr, chp: Option<&Path>, folder: &Path) -> Result<Option<Way>> {
    Ok(Some(match name {
        OURS => {
            let front = stage::start_front(app)?;
            let host = stage::host(front.address);
            Way::new(name, front, host)
        }
        LINKED => {
            let (front, node) = stage::start_linked_front(app, folder)?;
            let host = stage::host(front.address);
            Way { node: Some(node), ..Way::new(name, front, host) }
        }
        CHP => {
            let Some(program) = chp else { return Ok(None) };
            Way::new(name, start_chp(program, app)?, "app".into())
        }
        _ => Way::new(name, start_nginx(app, folder)?, "app".into()),
    }))
}

fn start_nginx(app: SocketAddr, folder: &Path) -> Result<Daemon> {
    nginx(folder, "proxy", |_| {
        format!(
            "location / {{ proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection $joined; \
             proxy_set_header Upgrade $http_upgrade; proxy_set_header Host $host; proxy_read_timeout 1h; }} }}\n\
             map $http_upgrade $joined {{ default upgrade; '' ''; }}\n\
             upstream app {{ server {app}; keepalive 64; keepalive_requests 100000000;"
        )
    })
}

fn start_chp(program: &Path, upstream: SocketAddr) -> Result<Daemon> {
    let (listen, api) = (free_address()?, free_address()?);
    Daemon::start(
        Command::new(program)
            .env("CONFIGPROXY_AUTH_TOKEN", "bench")
            .args(["--ip", "127.0.0.1", "--port"])
            .arg(listen.port().to_string())
            .args(["--api-ip", "127.0.0.1", "--api-port"])
            .arg(api.port().to_string())
            .args(["--log-level", "error", "--default-target"])
            .arg(format!("http://{upstream}")),
        listen,
    )
}

/// In the foreground, one worker, everything in the folder. It closes connections that have not asked yet when fewer than a
/// sixteenth of its own are free, so it may have more than there are files.
fn nginx(folder: &Path, name: &str, server: impl Fn(&str) -> String) -> Result<Daemon> {
    let address = free_address()?;
    let place = folder.display().to_string();
    let config = folder.join(format!("{name}.conf"));
    let text = format!(
        "daemon off; master_process off; pid {place}/{name}.pid; error_log {place}/error.log;\n\
         events {{ worker_connections 65536; }}\n\
         http {{\n\
           access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n\
           client_body_temp_path {place}/body; proxy_temp_path {place}/proxied; fastcgi_temp_path {place}/fastcgi;\n\
           uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;\n\
           server {{ listen {address}; {} }}\n\
         }}\n",
        server(&place)
    );
    std::fs::write(&config, text)?;
    let mut command = Command::new(NGINX);
    command.env_clear().arg("-p").arg(folder).arg("-e").arg(folder.join("error.log")).arg("-c").arg(config);
    Daemon::start(&mut command, address)
}
