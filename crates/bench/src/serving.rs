//! The server as a process: memory, start, requests per second of its own CPU time.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::{Goal, Report};
use crate::http::{self, Connection};
use crate::process::{Server, Setup};
use crate::{ROUNDS, Result, progress};

const IDLE: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 16;
const TENANTS: usize = 50;
const MAX_REQUESTS_PER_CONNECTION: usize = 50_000;

pub(crate) fn measure_idle(programs: &Path, report: &mut Report) -> Result {
    progress("the memory of an idle server");
    let folder = tempfile::tempdir()?;
    let (server, _) = Setup::bootstrap(programs, folder.path(), &[])?.serve()?;
    std::thread::sleep(IDLE);
    report.add("idle server, resident memory", &[server.resident_mib()?], "MiB", Some(Goal::Below(60.0, "")));
    server.stop()
}

pub(crate) fn measure_start(programs: &Path, report: &mut Report) -> Result {
    progress("start to ready");
    let folder = tempfile::tempdir()?;
    let setup = Setup::bootstrap(programs, folder.path(), &[])?;
    let mut seconds = Vec::new();
    for _ in 0..5 {
        let (server, took) = setup.serve()?;
        seconds.push(took.as_secs_f64());
        server.stop()?;
    }
    report.add("start to ready, existing data", &seconds, "s", Some(Goal::Below(0.5, "")));
    Ok(())
}

/// One kind of request and what its rounds gave.
struct Kind {
    name: &'static str,
    request: Vec<u8>,
    goal: Option<Goal>,
    per_cpu_second: Vec<f64>,
    per_second: Vec<f64>,
    p99_ms: Vec<f64>,
}

impl Kind {
    fn new(name: &'static str, request: Vec<u8>, goal: Option<Goal>) -> Self {
        Self { name, request, goal, per_cpu_second: Vec::new(), per_second: Vec::new(), p99_ms: Vec::new() }
    }
}

pub(crate) async fn measure_requests(programs: &Path, round: Duration, report: &mut Report) -> Result {
    progress("list and get over HTTP");
    let folder = tempfile::tempdir()?;
    // The limit on one caller's rate is for callers, not for this.
    let settings =
        [("GPUAAS__LIMITS__READS_PER_SECOND", "1000000"), ("GPUAAS__LIMITS__WRITES_PER_SECOND", "1000000")];
    let setup = Setup::bootstrap(programs, folder.path(), &settings)?;
    let (server, _) = setup.serve()?;
    let (bearer, tenant) = prepare(&server, &setup).await?;
    let authorization = [("authorization", bearer.as_str())];
    let get = |path: &str| http::request(server.address, "GET", path, &authorization, None);
    let list_goal = Goal::AtLeast(5900.0, "100 × 59/s, dstack's best measured figure, not rerun here");
    let get_goal = Goal::AtLeast(11_500.0, "100 × 115/s, dstack's best measured figure, not rerun here");
    let mut kinds = [
        Kind::new("list", get(&format!("/api/v1/tenants?limit={TENANTS}")), Some(list_goal)),
        Kind::new("list of one", get("/api/v1/tenants?limit=1"), Some(list_goal)),
        Kind::new("get", get(&format!("/api/v1/tenants/{tenant}")), Some(get_goal)),
        Kind::new("healthz", http::request(server.address, "GET", "/healthz", &[], None), None),
    ];
    for kind in &kinds {
        http::load(
            server.address,
            &kind.request,
            CONNECTIONS,
            round.min(Duration::from_millis(500)),
            MAX_REQUESTS_PER_CONNECTION,
        )
        .await?;
    }
    for _ in 0..ROUNDS {
        for kind in &mut kinds {
            let before = server.cpu_seconds()?;
            let load =
                http::load(server.address, &kind.request, CONNECTIONS, round, MAX_REQUESTS_PER_CONNECTION)
                    .await?;
            kind.per_cpu_second.push(load.requests / (server.cpu_seconds()? - before));
            kind.per_second.push(load.requests / load.seconds);
            kind.p99_ms.push(load.p99_ms);
        }
    }
    for Kind { name, goal, per_cpu_second, .. } in &kinds {
        report.add(format!("{name} per CPU s"), per_cpu_second, "/s", *goal);
    }
    for Kind { name, per_second, p99_ms, .. } in &kinds {
        report.add(format!("{name}, {CONNECTIONS} connections"), per_second, "/s", None);
        report.add(format!("{name}, {CONNECTIONS} connections, p99"), p99_ms, "ms", None);
    }
    let memory_goal = Goal::Below(66.0, "1/5 of dstack's 331 MiB after load, not rerun here");
    report.add("resident memory after that load", &[server.resident_mib()?], "MiB", Some(memory_goal));
    report.note(format!(
        "list: a page of {TENANTS} tenants. list and get carry a personal token and are answered from SQLite; healthz needs \
         neither and shows what HTTP alone costs. The load runs on the same cores, so req/s and p99 are the pair's; per CPU s \
         counts the server's user and system time alone."
    ));
    report.note(
        "dstack 0.22.5 was measured once, on a busy machine of 2 cores, with SQLite and a bearer token, and is not started here: \
         CPU per list 17 ms (of 1 run), 26 (of 20), 93 (of 100, with jobs); per get 8.7 ms; 331 MiB after load. So the goal \
         of 5 900 is like for like for a list of one; 100 × a list of 20 would be 3 800, of 100 1 080.",
    );
    server.stop()
}

/// Signs in as the admin, fills up to the number of tenants; gives the authorization and one tenant's id.
async fn prepare(server: &Server, setup: &Setup) -> Result<(String, String)> {
    let admin: Value = serde_json::from_slice(&std::fs::read(setup.admin_file())?)?;
    let mut connection = Connection::open(server.address).await?;
    let body = json!({"email": admin["email"], "password": admin["password"]});
    connection.ask(&http::request(server.address, "POST", "/api/v1/auth/login", &[], Some(&body))).await?;
    let cookie = connection
        .header("set-cookie")
        .and_then(|text| text.split(';').next())
        .ok_or("no session")?
        .to_owned();
    let origin = format!("http://{}", server.address);
    let headers = [("cookie", cookie.as_str()), ("origin", origin.as_str())];
    let token = connection
        .ask(&http::request(
            server.address,
            "POST",
            "/api/v1/auth/tokens",
            &headers,
            Some(&json!({"name": "bench"})),
        ))
        .await?;
    let bearer = format!("Bearer {}", token["secret"].as_str().ok_or("no token")?);
    let authorization = [("authorization", bearer.as_str())];
    // One is there: the demo tenant.
    for number in 1..TENANTS {
        let body =
            json!({"slug": format!("tenant-{number:02}"), "display_name": format!("Tenant number {number}")});
        connection
            .ask(&http::request(server.address, "POST", "/api/v1/tenants", &authorization, Some(&body)))
            .await?;
    }
    let page = connection
        .ask(&http::request(server.address, "GET", "/api/v1/tenants?limit=50", &authorization, None))
        .await?;
    let items = page["items"].as_array().ok_or("a list without items")?;
    if items.len() != TENANTS {
        return Err(format!("{} tenants on the page instead of {TENANTS}", items.len()).into());
    }
    Ok((bearer, items[TENANTS / 2]["id"].as_str().ok_or("a tenant without id")?.to_owned()))
}
