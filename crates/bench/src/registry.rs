//! Our registry against what else could do its work: hashing and writing the bytes oneself, nginx with the same bytes as
//! files, and Debian's docker-registry. All of them are processes on loopback, and take turns.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ring::digest::{Context, SHA256};
use serde_json::json;

use crate::daemon::{Daemon, NGINX, PATIENCE, free_address, over};
use crate::figures::{Goal, Report, float, median};
use crate::http;
use crate::process::cpu_seconds;
use crate::{ROUNDS, Result, progress};

const DISTRIBUTION: &str = "/usr/bin/docker-registry";

const LARGE: usize = 128 << 20;
const SMALL: usize = 4 << 10;
/// What is written or hashed at a time by the side that has no network.
const PIECE: usize = 1 << 20;
const CONNECTIONS: usize = 16;
const REPOSITORY: &str = "gpuaas/apps/acme/bench";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

pub(crate) async fn measure(programs: &Path, round: Duration, report: &mut Report) -> Result {
    let ours = programs.join("examples/serve");
    if let Some(missing) =
        [&ours, Path::new(NGINX), Path::new(DISTRIBUTION)].iter().find(|file| !file.exists())
    {
        report.note(format!("The registry was not measured: {} is missing.", missing.display()));
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let stage = Stage::start(&ours, folder.path())?;
    progress("push");
    stage.measure_push(folder.path(), report)?;
    progress("blob GET");
    stage.measure_large(report)?;
    progress("small requests of the registry");
    stage.measure_small(round, report).await?;
    report.note(format!(
        "registry: a blob of {} MiB and one of {} KiB, loopback, no TLS, no token. Small requests on {CONNECTIONS} kept-alive \
         connections; the load runs on the same cores, so rates are the pair's. µs are the server's user and system time alone.",
        LARGE >> 20,
        SMALL >> 10
    ));
    Ok(())
}

fn digest(bytes: &[u8]) -> String {
    let hash = ring::digest::digest(&SHA256, bytes);
    hash.as_ref().iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// Bytes that no file system or disk makes smaller.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A blocking connection for few and large requests, so that a runtime's turns are in no figure.
struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

struct Answer {
    status: u16,
    location: String,
    bytes: usize,
}

impl Wire {
    fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![0; 256 << 10] })
    }

    /// Sends head and body and reads the answer; its body is counted and dropped.
    fn exchange(&mut self, head: &str, body: &[u8]) -> Result<Answer> {
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body)?;
        let mut filled = 0;
        let end = loop {
            let read = self.stream.read(&mut self.buffer[filled..])?;
            if read == 0 {
                return Err("the server closed the connection".into());
            }
            filled += read;
            if let Some(end) = self.buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let header = |name: &str| {
            text.lines().find_map(|line| {
                let (found, value) = line.split_once(':')?;
                found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let status = text.get(9..12).unwrap_or_default().parse()?;
        let length: usize = header("content-length").unwrap_or_default().parse().unwrap_or_default();
        let mut bytes = filled - end;
        while bytes < length {
            let read = self.stream.read(&mut self.buffer)?;
            if read == 0 {
                return Err("the body is cut".into());
            }
            bytes += read;
        }
        Ok(Answer { status, location: header("location").unwrap_or_default(), bytes })
    }
}

fn expect(answer: &Answer, status: u16, what: &str) -> Result {
    if answer.status == status { Ok(()) } else { Err(format!("{what}: status {}", answer.status).into()) }
}

/// POST, then PUT with the whole blob; the time of both.
fn push(to: SocketAddr, bytes: &[u8], digest: &str) -> Result<Duration> {
    let mut wire = Wire::open(to)?;
    let started = Instant::now();
    let head =
        format!("POST /v2/{REPOSITORY}/blobs/uploads/ HTTP/1.1\r\nhost: {to}\r\ncontent-length: 0\r\n\r\n");
    let begun = wire.exchange(&head, b"")?;
    expect(&begun, 202, "an upload")?;
    let place = begun.location.strip_prefix(&format!("http://{to}")).unwrap_or(&begun.location);
    let mark = if place.contains('?') { '&' } else { '?' };
    let head = format!(
        "PUT {place}{mark}digest={digest} HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/octet-stream\r\n\
         content-length: {}\r\n\r\n",
        bytes.len()
    );
    expect(&wire.exchange(&head, bytes)?, 201, "a blob")?;
    Ok(started.elapsed())
}

/// What any registry must do at least: hash the bytes, write them, and wait for the disk once.
fn hash_and_write(file: &Path, bytes: &[u8]) -> Result<Duration> {
    let started = Instant::now();
    let (mut file, mut hash) = (File::create(file)?, Context::new(&SHA256));
    for piece in bytes.chunks(PIECE) {
        hash.update(piece);
        file.write_all(piece)?;
    }
    file.sync_all()?;
    std::hint::black_box(hash.finish());
    Ok(started.elapsed())
}

fn rate(bytes: usize, time: Duration) -> f64 {
    float(bytes as u64) / 1e6 / time.as_secs_f64()
}

/// Of all rounds together, because the kernel counts in hundredths of a second.
fn of_gigabyte(cpu: f64) -> f64 {
    cpu / float(u64::from(ROUNDS)) / (float(LARGE as u64) / 1e9)
}

/// The three servers, with the same content in each.
struct Stage {
    ours: Daemon,
    nginx: Daemon,
    distribution: Daemon,
    large: String,
    small: String,
}

/// One kind of small request, and what each server did with it.
struct Kind {
    name: &'static str,
    method: &'static str,
    path: String,
    goal_over_nginx: Option<Goal>,
    goal_over_distribution: Option<Goal>,
}

#[derive(Default)]
struct Seen {
    rates: Vec<f64>,
    requests: f64,
    cpu: f64,
}

impl Stage {
    fn start(program: &Path, folder: &Path) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program);
        command.env_clear().arg(folder.join("ours")).arg(address.to_string());
        let ours = Daemon::start(&mut command, address)?;

        let address = free_address()?;
        let config = folder.join("distribution.yml");
        let text = format!(
            "version: 0.1\nlog:\n  level: error\n  accesslog:\n    disabled: true\nstorage:\n  filesystem:\n    \
             rootdirectory: {}\nhttp:\n  addr: {address}\n",
            folder.join("distribution").display()
        );
        std::fs::write(&config, text)?;
        let mut command = Command::new(DISTRIBUTION);
        command.env_clear().arg("serve").arg(config);
        let distribution = Daemon::start(&mut command, address)?;

        let (large, small) = (noise(LARGE, 1), noise(SMALL, 2));
        let (large_digest, small_digest) = (digest(&large), digest(&small));
        let described = |bytes: &[u8], kind: &str| json!({"mediaType": kind, "digest": digest(bytes), "size": bytes.len()});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE,
            "config": described(b"{}", "application/vnd.oci.image.config.v1+json"),
            "layers": [described(&large, "application/vnd.oci.image.layer.v1.tar"), described(&small, "application/vnd.oci.image.layer.v1.tar")],
        })
        .to_string();
        for server in [&ours, &distribution] {
            let to = server.address;
            for (bytes, digest) in
                [(&b"{}"[..], &digest(b"{}")), (&large, &large_digest), (&small, &small_digest)]
            {
                push(to, bytes, digest)?;
            }
            let head = format!(
                "PUT /v2/{REPOSITORY}/manifests/v1 HTTP/1.1\r\nhost: {to}\r\ncontent-type: {MANIFEST_TYPE}\r\ncontent-length: {}\r\n\r\n",
                manifest.len()
            );
            expect(&Wire::open(to)?.exchange(&head, manifest.as_bytes())?, 201, "a manifest")?;
        }

        let root = folder.join("nginx").join(format!("v2/{REPOSITORY}"));
        std::fs::create_dir_all(root.join("blobs"))?;
        std::fs::create_dir_all(root.join("manifests"))?;
        std::fs::write(root.join("blobs").join(&large_digest), &large)?;
        std::fs::write(root.join("blobs").join(&small_digest), &small)?;
        std::fs::write(root.join("manifests/v1"), &manifest)?;
        let nginx = start_nginx(&folder.join("nginx"))?;
        Ok(Self { ours, nginx, distribution, large: large_digest, small: small_digest })
    }

    fn measure_push(&self, folder: &Path, report: &mut Report) -> Result {
        let mut bytes = noise(LARGE, 3);
        let (mut alone, mut ours, mut distribution) = (Vec::new(), Vec::new(), Vec::new());
        let file = folder.join("alone");
        let processes = [std::process::id(), self.ours.child.id(), self.distribution.child.id()];
        let mut cpu = [0.0; 3];
        for number in 0..=u64::from(ROUNDS) {
            // Never the same blob, or nothing would be stored.
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            let digest = digest(&bytes);
            let mut took = [Duration::ZERO; 3];
            for turn in 0..3 {
                let side = usize::try_from((turn + number) % 3)?;
                let before = cpu_seconds(processes[side])?;
                took[side] = match side {
                    0 => hash_and_write(&file, &bytes)?,
                    1 => push(self.ours.address, &bytes, &digest)?,
                    _ => push(self.distribution.address, &bytes, &digest)?,
                };
                if number > 0 {
                    cpu[side] += cpu_seconds(processes[side])? - before;
                }
            }
            std::fs::remove_file(&file)?;
            // The first round makes folders and wakes the disk.
            if number > 0 {
                alone.push(rate(LARGE, took[0]));
                ours.push(rate(LARGE, took[1]));
                distribution.push(rate(LARGE, took[2]));
            }
        }
        let goal = Goal::AtLeast(0.85, "of hash, write and one fsync");
        report.add("registry.push", &over(&ours, &alone), "×", Some(goal));
        report.add("registry.push, distribution's", &over(&distribution, &alone), "×", None);
        report.add("registry.push, MB/s", &ours, "MB/s", None);
        report.add("registry.hash_and_write, MB/s", &alone, "MB/s", None);
        report.add("registry.push, CPU s per GB", &[of_gigabyte(cpu[1])], "s", None);
        report.add("registry.hash_and_write, CPU s per GB", &[of_gigabyte(cpu[0])], "s", None);
        Ok(())
    }

    fn measure_large(&self, report: &mut Report) -> Result {
        let sides = [&self.ours, &self.nginx, &self.distribution];
        let mut rates = [const { Vec::new() }; 3];
        let mut cpu = [0.0; 3];
        let mut wires = sides.iter().map(|side| Wire::open(side.address)).collect::<Result<Vec<_>>>()?;
        for number in 0..=ROUNDS {
            for turn in 0..3 {
                let side = usize::try_from((turn + number) % 3)?;
                let to = sides[side].address;
                let head =
                    format!("GET /v2/{REPOSITORY}/blobs/{} HTTP/1.1\r\nhost: {to}\r\n\r\n", self.large);
                let before = sides[side].cpu_seconds()?;
                let started = Instant::now();
                let answer = wires[side].exchange(&head, b"")?;
                let took = started.elapsed();
                expect(&answer, 200, "a blob")?;
                if answer.bytes != LARGE {
                    return Err(format!("{} bytes of {LARGE}", answer.bytes).into());
                }
                if number > 0 {
                    rates[side].push(rate(LARGE, took));
                    cpu[side] += sides[side].cpu_seconds()? - before;
                }
            }
        }
        let [ours, nginx, distribution] = rates;
        report.add("registry.blob_get", &over(&ours, &nginx), "×", Some(Goal::AtLeast(0.95, "of nginx")));
        report.add("registry.blob_get, distribution's", &over(&distribution, &nginx), "×", None);
        report.add("registry.blob_get, MB/s", &ours, "MB/s", None);
        report.add("registry.blob_get, nginx", &nginx, "MB/s", None);
        report.add("registry.blob_get, CPU s per GB", &[of_gigabyte(cpu[0])], "s", None);
        report.add("registry.blob_get, CPU s per GB, nginx", &[of_gigabyte(cpu[1])], "s", None);
        Ok(())
    }

    async fn measure_small(&self, round: Duration, report: &mut Report) -> Result {
        let half = Goal::AtLeast(0.5, "of nginx");
        let twenty = Goal::AtLeast(20.0, "times distribution's");
        let blob = format!("/v2/{REPOSITORY}/blobs/{}", self.small);
        let manifest = format!("/v2/{REPOSITORY}/manifests/v1");
        let kind = |name, method, path: &str, goal_over_nginx, goal_over_distribution| Kind {
            name,
            method,
            path: path.to_owned(),
            goal_over_nginx,
            goal_over_distribution,
        };
        let kinds = [
            kind("small_get", "GET", &blob, Some(half), None),
            kind("manifest_get", "GET", &manifest, Some(half), None),
            kind("manifest_head", "HEAD", &manifest, None, Some(twenty)),
            kind("blob_head", "HEAD", &blob, None, None),
        ];
        for kind in &kinds {
            self.measure_kind(kind, round / 3, report).await?;
        }
        Ok(())
    }

    async fn measure_kind(&self, kind: &Kind, turn: Duration, report: &mut Report) -> Result {
        let sides = [&self.ours, &self.nginx, &self.distribution];
        let mut seen = [const { Seen { rates: Vec::new(), requests: 0.0, cpu: 0.0 } }; 3];
        for number in 0..=ROUNDS {
            for step in 0..3 {
                let side = usize::try_from((step + number) % 3)?;
                let (server, seen) = (sides[side], &mut seen[side]);
                let request = http::request(
                    server.address,
                    kind.method,
                    &kind.path,
                    &[("accept", MANIFEST_TYPE)],
                    None,
                );
                let before = server.cpu_seconds()?;
                let load = http::load(server.address, &request, CONNECTIONS, turn, usize::MAX).await?;
                if number > 0 {
                    seen.rates.push(load.requests / load.seconds);
                    seen.requests += load.requests;
                    seen.cpu += server.cpu_seconds()? - before;
                }
            }
        }
        let [ours, nginx, distribution] = &seen;
        let name = format!("registry.{}", kind.name);
        if let Some(goal) = kind.goal_over_nginx {
            report.add(name.clone(), &over(&ours.rates, &nginx.rates), "×", Some(goal));
        }
        let over_distribution = over(&ours.rates, &distribution.rates);
        report.add(format!("{name} over distribution"), &over_distribution, "×", kind.goal_over_distribution);
        let microseconds = |seen: &Seen| seen.cpu / seen.requests * 1e6;
        let [ours_cpu, nginx_cpu, distribution_cpu] = [ours, nginx, distribution].map(microseconds);
        report.add(format!("{name}, ours"), &ours.rates, "/s", None);
        report.add(format!("{name}, CPU"), &[ours_cpu], "µs", None);
        report.note(format!(
            "{name}: nginx {:.0}/s and {nginx_cpu:.1} µs, distribution {:.0}/s and {distribution_cpu:.0} µs.",
            median(&nginx.rates),
            median(&distribution.rates)
        ));
        Ok(())
    }
}

/// Its own configuration, one worker, everything in the folder, in the foreground.
fn start_nginx(folder: &Path) -> Result<Daemon> {
    let address = free_address()?;
    let place = folder.display();
    let config = folder.join("nginx.conf");
    let text = format!(
        "daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n\
           access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; default_type application/octet-stream;\n\
           client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;\n\
           uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;\n\
           server {{ listen {address}; root {place}; }}\n\
         }}\n"
    );
    std::fs::write(&config, text)?;
    let mut command = Command::new(NGINX);
    command.env_clear().arg("-p").arg(folder).arg("-e").arg(folder.join("error.log")).arg("-c").arg(config);
    Daemon::start(&mut command, address)
}
