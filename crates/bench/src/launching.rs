//! Create to running on the real engine, against what the engine itself takes for the same container.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HostConfig, Ipam, IpamConfig,
    NetworkCreateRequest, NetworkingConfig,
};
use bollard::query_parameters as query;
use futures_util::StreamExt as _;
use gpuaas_api::Route;
use gpuaas_testkit::process::{AgentProcess, ServerProcess, free_port};
use gpuaas_testkit::{Author, Caller, manifest, web_image};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::figures::{Goal, Report};
use crate::{ROUNDS, Result, progress};

/// What the testkit's registry and image are made of.
const BUSYBOX: &str = "/bin/busybox";
const ENGINE_SECONDS: u64 = 60;
const PATIENCE: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(2);
const PORT: u16 = 8080;
/// Marks what is made by hand; the agent touches nothing that does not name its node.
const LABEL: &str = "gpuaas.bench";

pub(crate) async fn measure(socket: &str, report: &mut Report) -> Result {
    progress("create to running");
    let Some(docker) = engine(socket).await else {
        report.note(format!("The launch was not measured: it needs Docker at {socket} and {BUSYBOX}."));
        return Ok(());
    };
    let mut stage = Stage::build(socket).await?;
    let mut image = None;
    let measured = rounds(&mut stage, &docker, &mut image).await;
    // Whatever happened, nothing is left, and nobody makes it again.
    let labels = [format!("gpuaas.node={}", stage.node), format!("{LABEL}={}", std::process::id())];
    drop(stage);
    for label in labels {
        sweep(&docker, &label).await;
    }
    if let Some(image) = image {
        // A name of this run's own; the layers stay if others have them too.
        let _ = docker.remove_image(&image, None::<query::RemoveImageOptions>, None).await;
    }
    let (engine, platform, ratios) = measured?;
    report.add("launch.engine_alone", &engine, "ms", None);
    report.add("launch.platform", &platform, "ms", None);
    let goal = Goal::Below(1.05, "of the Engine API's own create and start");
    report.add("launch.create_to_running", &ratios, "×", Some(goal));
    Ok(())
}

/// The engine, if everything is there that a launch takes.
async fn engine(socket: &str) -> Option<Docker> {
    let docker = Docker::connect_with_unix(socket, ENGINE_SECONDS, bollard::API_DEFAULT_VERSION).ok()?;
    docker.ping().await.ok()?;
    Path::new(BUSYBOX).exists().then_some(docker)
}

async fn rounds(
    stage: &mut Stage,
    docker: &Docker,
    image: &mut Option<String>,
) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    // The first launch pulls the image and is the pattern for what is made by hand.
    let (_, id) = stage.launch().await?;
    let pattern = Pattern::of(stage, docker).await?;
    image.clone_from(&pattern.body.image);
    stage.decommission(&id).await?;
    pattern.run(docker).await?;
    let (mut engine, mut platform, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut by_hand = 0.0;
        // Who goes first changes, so that neither always finds the engine warmer.
        if round % 2 == 0 {
            by_hand = pattern.run(docker).await?;
        }
        let (launched, id) = stage.launch().await?;
        stage.decommission(&id).await?;
        if round % 2 == 1 {
            by_hand = pattern.run(docker).await?;
        }
        engine.push(by_hand);
        platform.push(launched);
        ratios.push(launched / by_hand);
    }
    Ok((engine, platform, ratios))
}

/// A platform of processes with one node on the real engine, and an app that may be launched.
struct Stage {
    admin: Caller,
    project: String,
    allocation: String,
    node: String,
    /// What happens in the project, as it happens: who asked again and again would take the launch its processor.
    news: News,
    // Ended in this order.
    _agent: AgentProcess,
    _server: ServerProcess,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn build(socket: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut server = ServerProcess::prepare(&folder.path().join("data"), None);
        tokio::task::block_in_place(|| server.serve());
        let admin = server.admin().await;
        let token = admin.call(Route::JoinTokenCreate, &[], None).await.expect(201).body;
        let mut agent = AgentProcess::join(
            &folder.path().join("agent"),
            text(&token, "server")?,
            text(&token, "token")?,
            &format!(
                "runtime = \"docker\"\n[docker]\nsocket = {socket:?}\n[network]\nrange = \"{}/17\"\ninstance_api_port = {}\n",
                range(0),
                free_port().max(1024)
            ),
            &[],
        );
        agent.start();
        let projects = admin.call(Route::ProjectListMine, &[], None).await.expect(200).body;
        let project = text(&projects["items"][0], "id")?.to_owned();
        let node = until("the node is ready", async || {
            let nodes = admin.call(Route::NodeList, &[], None).await.expect(200).body;
            let node = &nodes["items"][0];
            Ok((node["ready"] == true).then(|| node["id"].as_str().unwrap_or_default().to_owned()))
        })
        .await?;
        let sku = json!({"slug": "bench", "shape": "gpu_slice", "gpu_count": 0, "vcpu": 1, "memory_mib": 512,
                         "grant_policy": "auto"});
        admin.call(Route::SkuCreate, &[], Some(&sku)).await.expect(201);
        let allocation = admin
            .call(Route::AllocationRequest, &[&project], Some(&json!({"sku": "bench"})))
            .await
            .expect(201)
            .id();
        let author = Author::new(&admin, &project, "bench").await;
        let artifact = author.publish("web", "platform", &web_image("hello\n")).await;
        let mut app = manifest("web", "1.0.0");
        app["artifact_ref"] = artifact["reference"].clone();
        app["runtime_profile"]["image_ref"] = artifact["reference"].clone();
        // As often as a manifest may ask for.
        app["runtime_profile"]["readiness"] =
            json!({"check": {"kind": "http", "port": PORT, "path": "/"}, "interval_ms": 50});
        app["runtime_profile"]["read_only_root"] = json!(true);
        admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        let enabled = json!({"enabled": true});
        admin.call(Route::EntitlementSet, &[&project, "web"], Some(&enabled)).await.expect(200);
        let news = listen(&admin, &project).await?;
        Ok(Self { news, admin, project, allocation, node, _agent: agent, _server: server, _folder: folder })
    }

    /// From the call to the news that it runs, in milliseconds; and the instance.
    async fn launch(&mut self) -> Result<(f64, String)> {
        let wish =
            json!({"slug": "web", "target_allocation_id": self.allocation, "resources": {"memory_mib": 64}});
        let begun = Instant::now();
        let id = self.admin.call(Route::InstanceCreate, &[&self.project], Some(&wish)).await.expect(202).id();
        while !self.hears(&id).await? {}
        Ok((milliseconds(begun), id))
    }

    /// The next piece of news: whether it is that this instance runs.
    async fn hears(&mut self, id: &str) -> Result<bool> {
        let message = tokio::time::timeout(PATIENCE, self.news.next()).await?.ok_or("no more news")??;
        let Ok(event) = serde_json::from_slice::<Value>(&message.into_data()) else { return Ok(false) };
        let about = event["data"]["app_instance_id"] == id;
        if about && event["type"] == "apps.instance.failed" {
            return Err(format!("a launch failed: {}", event["data"]).into());
        }
        Ok(about && event["type"] == "apps.instance.running")
    }

    async fn decommission(&self, id: &str) -> Result {
        self.reaches(id, |body| body["current_operation"].is_null()).await?;
        self.admin.call(Route::InstanceDecommission, &[&self.project, id], None).await.expect(202);
        self.reaches(id, |body| !body["decommissioned_at"].is_null()).await
    }

    async fn reaches(&self, id: &str, done: impl Fn(&Value) -> bool) -> Result {
        until("the instance gets there", async || {
            let body = self.admin.call(Route::InstanceGet, &[&self.project, id], None).await.expect(200).body;
            if body["status"] == "failed" {
                return Err(format!("a launch failed: {}", body["failure_message"]).into());
            }
            Ok(done(&body).then_some(()))
        })
        .await
    }
}

type News = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>;

async fn listen(admin: &Caller, project: &str) -> Result<News> {
    let url = admin.url().replacen("http", "ws", 1);
    let mut request =
        format!("{url}{}", Route::ProjectEventSocket.path(&[&project])).into_client_request()?;
    let bearer = admin.header("authorization").ok_or("an admin without a token")?;
    request.headers_mut().insert("authorization", bearer.parse()?);
    Ok(tokio_tungstenite::connect_async(request).await?.0)
}

/// The container that the platform makes, as the engine shows it.
struct Pattern {
    body: ContainerCreateBody,
    host_config: HostConfig,
    internal: Option<bool>,
}

impl Pattern {
    /// Taken from the only instance that runs.
    async fn of(stage: &Stage, docker: &Docker) -> Result<Self> {
        let filters = filter(&format!("gpuaas.node={}", stage.node));
        let options = query::ListContainersOptions { filters: Some(filters.clone()), ..Default::default() };
        let found = docker.list_containers(Some(options)).await?;
        let id =
            found.first().and_then(|found| found.id.as_deref()).ok_or("the instance has no container")?;
        let found = docker.inspect_container(id, None).await?;
        let config = found.config.ok_or("a container without configuration")?;
        let networks =
            docker.list_networks(Some(query::ListNetworksOptions { filters: Some(filters) })).await?;
        let network = networks.into_iter().next().ok_or("the instance has no network")?;
        let body = ContainerCreateBody {
            hostname: config.hostname,
            user: config.user,
            env: config.env,
            image: config.image,
            labels: Some(own_labels()),
            ..ContainerCreateBody::default()
        };
        let host_config = found.host_config.ok_or("a container without limits")?;
        Ok(Self { body, host_config, internal: network.internal })
    }

    /// Network, container, start, and the first answer, one after the other, in milliseconds. The removal is not in it.
    async fn run(&self, docker: &Docker) -> Result<f64> {
        let name = format!("gpuaas-bench-{}", std::process::id());
        let begun = Instant::now();
        let made = self.bring_up(docker, &name).await;
        let took = milliseconds(begun);
        let options = query::RemoveContainerOptions { v: true, force: true, link: false };
        let removed = docker.remove_container(&name, Some(options)).await;
        let swept = docker.remove_network(&name).await;
        made?;
        removed?;
        swept?;
        Ok(took)
    }

    async fn bring_up(&self, docker: &Docker, name: &str) -> Result {
        let base = range(128);
        let host = |number: u8| {
            let [a, b, c, d] = base.octets();
            Ipv4Addr::new(a, b, c, d + number)
        };
        let config = IpamConfig {
            subnet: Some(format!("{base}/28")),
            gateway: Some(host(1).to_string()),
            ..IpamConfig::default()
        };
        let bridge = format!("gpuaas-b{}", std::process::id());
        let network = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some("bridge".to_owned()),
            internal: self.internal,
            attachable: Some(false),
            enable_ipv6: Some(false),
            ipam: Some(Ipam {
                driver: Some("default".to_owned()),
                config: Some(vec![config]),
                options: None,
            }),
            options: Some(HashMap::from([("com.docker.network.bridge.name".to_owned(), bridge)])),
            labels: Some(own_labels()),
            ..NetworkCreateRequest::default()
        };
        docker.create_network(network).await?;
        let address =
            EndpointIpamConfig { ipv4_address: Some(host(2).to_string()), ..EndpointIpamConfig::default() };
        let endpoint = EndpointSettings { ipam_config: Some(address), ..EndpointSettings::default() };
        let body = ContainerCreateBody {
            host_config: Some(HostConfig { network_mode: Some(name.to_owned()), ..self.host_config.clone() }),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some(HashMap::from([(name.to_owned(), endpoint)])),
            }),
            ..self.body.clone()
        };
        let options = query::CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
        docker.create_container(Some(options), body).await?;
        docker.start_container(name, None).await?;
        let at = SocketAddr::from((host(2), PORT));
        until("the container answers", async || Ok(answers(at).await.then_some(()))).await
    }
}

async fn answers(at: SocketAddr) -> bool {
    let asking = async {
        let mut stream = TcpStream::connect(at).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n").await?;
        let mut status = [0; 12];
        stream.read_exact(&mut status).await?;
        Ok::<_, std::io::Error>(status)
    };
    let answer = tokio::time::timeout(Duration::from_secs(1), asking).await;
    answer.is_ok_and(|status| status.is_ok_and(|status| status.ends_with(b" 200")))
}

/// The base of a range of this run's own; other nodes of this machine have theirs.
fn range(third: u8) -> Ipv4Addr {
    let second = u8::try_from(std::process::id() % 200 + 20).unwrap_or(20);
    Ipv4Addr::new(10, second, third, 0)
}

fn own_labels() -> HashMap<String, String> {
    HashMap::from([(LABEL.to_owned(), std::process::id().to_string())])
}

fn filter(label: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![label.to_owned()])])
}

fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str> {
    body[name].as_str().ok_or_else(|| format!("no {name} in {body}").into())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("waited in vain: {what}").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Removes what has this label; what is gone already is gone.
async fn sweep(docker: &Docker, label: &str) {
    let filters = Some(filter(label));
    let options = query::ListContainersOptions { all: true, filters: filters.clone(), ..Default::default() };
    for id in docker.list_containers(Some(options)).await.unwrap_or_default().into_iter().filter_map(|c| c.id)
    {
        let options = query::RemoveContainerOptions { v: true, force: true, link: false };
        let _ = docker.remove_container(&id, Some(options)).await;
    }
    let networks = docker.list_networks(Some(query::ListNetworksOptions { filters })).await;
    for id in networks.unwrap_or_default().into_iter().filter_map(|network| network.id) {
        let _ = docker.remove_network(&id).await;
    }
}
