//! The root of the command line: global flags and the nouns. Each noun's verbs stand beside their code.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    allocation, artifact, audit, catalog, completion, context, doctor, entitlement, event, forward, instance,
    key, login, node, open, preset, project, registry, render, role, service_account, sku, tenant, token,
    user, volume, whoami,
};
use crate::printer::Output;

/// Contract: scripts decide by these.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the answer is no: a chain is broken, doctor found a fault, a question was declined, an instance failed
  2  the command line or a local file is wrong
  3  not signed in, or the credential was refused (401)
  4  not allowed (403)
  5  not found, or not yours to see (404)
  6  conflicts with the state of things (409, 412, 422)
  7  the server or the network is in trouble (5xx, 429, no answer)
  8  the request was refused as written (400, 413)
  9  waited as long as asked, and the operation still goes on

Environment:
  GPUAAS_URL, GPUAAS_TOKEN, GPUAAS_CONTEXT, GPUAAS_CA_FILE  stand in for the flags
  GPUAAS_CONFIG  path of the context file (default: gpuaas/config.toml in the user's configuration folder)
  NO_COLOR       no colours

Examples:
  gpuaas login --url https://gpu.example.org --email ada@example.org
  gpuaas tenant create acme && gpuaas project create lab --tenant acme
  gpuaas allocation request --sku gpu-1 --wait
  gpuaas app publish ./jupyter --release --entitle
  gpuaas instance create jupyter --allocation gpu-1 --name jupyter && gpuaas open jupyter
  gpuaas audit verify --stream all
  gpuaas doctor";

/// The command line of the GPUaaS App Platform.
///
/// Data goes to stdout, messages go to stderr. Wherever a tenant, project or role is asked for, its id or its slug
/// can be given; wherever a node, allocation, volume or instance, its id or its name; wherever a person, the id or the e-mail
/// address.
#[derive(Parser)]
#[command(name = "gpuaas", version, after_help = EXIT_CODES, arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The platform to call [env: GPUAAS_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// A file holding the token to call with [env: GPUAAS_TOKEN holds the token itself]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The context to use instead of the current one [env: GPUAAS_CONTEXT]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Certificates to trust besides the system's, as PEM [env: GPUAAS_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// How to print the answer
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Output,
    /// The id under which logs, events and audit rows tell of this command; made up unless given
    #[arg(long, global = true, value_name = "ID", value_parser = correlation_id)]
    pub(crate) correlation_id: Option<String>,
    /// Do not ask before destructive commands (without a terminal nobody is asked)
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
}

/// It becomes a header, so it must be able to.
fn correlation_id(text: &str) -> Result<String, String> {
    let fits = (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    if fits {
        Ok(text.to_owned())
    } else {
        Err("use 1 to 128 letters, digits, '-', '_', '.' or ':'".to_owned())
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    Whoami(whoami::WhoamiArgs),
    /// Platforms this machine knows, and defaults for each
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Customers of the platform
    #[command(subcommand)]
    Tenant(tenant::TenantCommand),
    /// Where things run and are charged
    #[command(subcommand)]
    Project(project::ProjectCommand),
    /// People
    #[command(subcommand)]
    User(user::UserCommand),
    /// Roles, permissions, and who holds a role on the whole platform
    #[command(subcommand)]
    Role(role::RoleCommand),
    /// Your own personal access tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Machine callers of a project
    #[command(subcommand)]
    ServiceAccount(service_account::ServiceAccountCommand),
    /// Machines that run things
    #[command(subcommand)]
    Node(node::NodeCommand),
    /// What can be allocated, and what it costs
    #[command(subcommand)]
    Sku(sku::SkuCommand),
    /// Compute that a project holds
    #[command(subcommand)]
    Allocation(allocation::AllocationCommand),
    /// Choices of a launch form under a name
    #[command(subcommand)]
    Preset(preset::PresetCommand),
    Render(Box<render::RenderArgs>),
    /// Storage that outlives the instances that use it
    #[command(subcommand)]
    Volume(volume::VolumeCommand),
    /// Apps and their versions
    #[command(subcommand)]
    App(catalog::AppCommand),
    /// Images that a project has published
    #[command(subcommand)]
    Artifact(artifact::ArtifactCommand),
    /// The registry, and who may pull from it
    #[command(subcommand)]
    Registry(registry::RegistryCommand),
    /// Keys that stand for images
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Which apps tenants and projects may launch
    #[command(subcommand)]
    Entitlement(entitlement::EntitlementCommand),
    /// Apps that run
    #[command(subcommand)]
    Instance(instance::InstanceCommand),
    /// Open an app in the browser
    #[command(
        after_help = "Examples:\n  gpuaas open jupyter\n  gpuaas open jupyter --path /lab/tree/notes.ipynb\n  gpuaas open jupyter --print"
    )]
    Open(open::OpenArgs),
    /// Who and what reaches an app's endpoints
    #[command(subcommand)]
    Endpoint(open::EndpointCommand),
    /// Reach a port of an instance from this machine; the same as `instance forward`
    #[command(
        after_help = "Examples:\n  gpuaas port-forward jupyter\n  gpuaas port-forward jupyter --port 8888 --local-port 8888"
    )]
    PortForward(forward::ForwardArgs),
    /// Who did what, and whether the trail is whole
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// What happened, as it happens
    #[command(subcommand)]
    Event(event::EventCommand),
    Doctor(doctor::DoctorArgs),
    Completion(completion::CompletionArgs),
}

/// Why something is done.
#[derive(Args)]
pub(crate) struct Reason {
    /// Why; kept in the audit row
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Args)]
pub(crate) struct ProjectArg {
    /// The project (id or slug); the context's default unless given
    #[arg(long)]
    pub(crate) project: Option<String>,
}

#[derive(Args)]
pub(crate) struct ListLimit {
    /// Stop after this many; all of them unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

impl ListLimit {
    pub(crate) fn get(&self) -> Option<usize> {
        self.limit.map(|limit| limit as usize)
    }
}
