//! One file per noun: the arguments of its verbs, and what each verb does.

use crate::app::App;
use crate::args::Command;
use crate::failure::Result;

pub(crate) mod allocation;
pub(crate) mod artifact;
pub(crate) mod audit;
pub(crate) mod catalog;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod entitlement;
pub(crate) mod event;
pub(crate) mod form;
pub(crate) mod forward;
pub(crate) mod init;
pub(crate) mod instance;
pub(crate) mod key;
pub(crate) mod login;
pub(crate) mod node;
pub(crate) mod open;
pub(crate) mod place;
pub(crate) mod preset;
pub(crate) mod project;
pub(crate) mod publish;
pub(crate) mod registry;
pub(crate) mod render;
pub(crate) mod role;
pub(crate) mod service_account;
pub(crate) mod sku;
pub(crate) mod tenant;
pub(crate) mod token;
pub(crate) mod user;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod volume;
pub(crate) mod whoami;

pub(crate) async fn run(app: &App, command: Command) -> Result<()> {
    match command {
        Command::Login(args) => login::login(app, args).await,
        Command::Logout(args) => login::logout(app, &args).await,
        Command::Whoami(args) => whoami::run(app, &args).await,
        Command::Context(command) => context::run(app, command),
        Command::Tenant(command) => tenant::run(app, command).await,
        Command::Project(command) => project::run(app, command).await,
        Command::User(command) => user::run(app, command).await,
        Command::Role(command) => role::run(app, command).await,
        Command::Token(command) => token::run(app, command).await,
        Command::ServiceAccount(command) => service_account::run(app, command).await,
        Command::Node(command) => node::run(app, command).await,
        Command::Sku(command) => sku::run(app, command).await,
        Command::Allocation(command) => allocation::run(app, command).await,
        Command::Volume(command) => volume::run(app, command).await,
        Command::App(command) => catalog::run(app, command).await,
        Command::Artifact(command) => artifact::run(app, command).await,
        Command::Registry(command) => registry::run(app, command).await,
        Command::Key(command) => key::run(app, command).await,
        Command::Entitlement(command) => entitlement::run(app, command).await,
        Command::Instance(command) => instance::run(app, command).await,
        Command::Preset(command) => preset::run(app, command).await,
        Command::Render(args) => render::run(app, *args).await,
        Command::Open(args) => open::open(&app.session()?, &args).await,
        Command::Endpoint(command) => open::run(app, command).await,
        Command::PortForward(args) => forward::run(&app.session()?, &args).await,
        Command::Audit(command) => audit::run(app, command).await,
        Command::Event(command) => event::run(app, command).await,
        Command::Doctor(args) => doctor::run(app, &args).await,
        Command::Completion(args) => completion::run(app, &args),
    }
}
