//! The program as a container runs it: settings from the environment, lines on standard output, gone on SIGTERM.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

struct App {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: u16,
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl App {
    fn start(environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hello-web"))
            .env_clear()
            .env("PORT", "0")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut app = Self { child, lines, port: 0 };
        let said = app.line();
        app.port = said.strip_prefix("listening on port ").expect(&said).parse().unwrap();
        app
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The whole answer to one request on a connection of its own.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    }

    fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }
}

#[test]
fn the_page_tells_where_it_runs_and_escapes_it() {
    let app = App::start(&[("GPUAAS_INSTANCE_ID", "<i>7</i> {{title}}"), ("GPUAAS_GPUS_SIMULATED", "1")]);
    let page = app.get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n"), "{page}");
    assert!(page.contains("<dd>&lt;i&gt;7&lt;/i&gt; {{title}}</dd>"), "{page}");
    assert!(page.contains("Simulated GPUs"), "{page}");
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(page.contains(hostname.trim()), "{page}");
    assert!(page.contains("<html lang=\"en\">") && page.contains("<h1>"), "{page}");
    assert!(!App::start(&[]).get("/").contains("Simulated GPUs"));
}

#[test]
fn machines_get_health_and_what_is_no_secret() {
    let mut app =
        App::start(&[("GPUAAS_INSTANCE_ID", "i-1"), ("GPUAAS_APP_TOKEN", "hush"), ("HOME", "/root")]);
    assert!(app.get("/healthz").ends_with("\r\n\r\nok\n"));
    assert!(app.get("/env.json?x").ends_with("\r\n\r\n{\"GPUAAS_INSTANCE_ID\":\"i-1\"}\n"));
    assert!(app.get("/elsewhere").starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert!(app.ask("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc").starts_with("HTTP/1.1 405 "));
    assert!(app.ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let head = app.ask("HEAD /healthz HTTP/1.0\r\n\r\n");
    assert!(head.contains("content-length: 3\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let logged: Vec<String> = (0..6).map(|_| app.line()).collect();
    for (line, start) in logged.iter().zip([
        "GET /healthz 200 ",
        "GET /env.json 200 ",
        "GET /elsewhere 404 ",
        "POST / 405 ",
        "? ? 400 ",
        "HEAD /healthz 200 ",
    ]) {
        assert!(line.split_once(' ').unwrap().1.starts_with(start), "{line}");
    }
}

#[test]
fn a_connection_serves_several_requests_and_an_endless_head_is_refused() {
    let app = App::start(&[]);
    let mut stream = app.connect();
    let two = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n";
    stream.write_all(two.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");

    let mut stream = app.connect();
    // It may stop reading before all of it is written.
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(9000)).as_bytes());
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 400");
}

#[test]
fn more_than_64_connections_are_told_to_come_back() {
    let app = App::start(&[]);
    let held: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = app.connect();
            // Half a request holds a place until its time is over.
            stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
            stream
        })
        .collect();
    // The last of the 64 may still be on its way to its thread.
    let deadline = Instant::now() + Duration::from_secs(3);
    loop {
        let answer = app.get("/healthz");
        if answer.starts_with("HTTP/1.1 503 ") {
            break;
        }
        assert!(Instant::now() < deadline, "{answer}");
    }
    drop(held);
    while !app.get("/healthz").starts_with("HTTP/1.1 200 ") {
        assert!(Instant::now() < deadline + Duration::from_secs(10), "it never recovered");
    }
}

#[test]
fn it_stops_on_sigterm_within_a_second_with_idle_connections_open() {
    let mut app = App::start(&[]);
    let mut idle = app.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).unwrap();
    let began = Instant::now();
    app.terminate();
    let status = app.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn it_sends_heartbeats() {
    let platform = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/instance", platform.local_addr().unwrap());
    let mut app = App::start(&[("GPUAAS_BASE_URL", &base), ("GPUAAS_INSTANCE_ID", "i-1")]);
    let (mut stream, _) = platform.accept().unwrap();
    let mut seen = [0; 512];
    let count = stream.read(&mut seen).unwrap();
    let request = String::from_utf8_lossy(&seen[..count]).into_owned();
    assert!(request.starts_with("POST /instance/v1/heartbeat HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("{\"instance_id\":\"i-1\",\"uptime_seconds\":0}"), "{request}");
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    drop(stream);
    assert_eq!(app.line(), "heartbeat answered 204");
}

#[test]
fn a_wrong_port_is_told() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_hello-web")).env_clear().env("PORT", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("PORT must be a number"));
}
