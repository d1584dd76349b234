//! Roles, the permissions they are made of, and who holds one on the whole platform.

use clap::Subcommand;
use gpuaas_api::identity::{NewRole, PermissionView, Role, RoleUpdate};
use gpuaas_api::{List, Route};

use super::place::{self, Holder, Place};
use crate::app::App;
use crate::args::ListLimit;
use crate::failure::{Failure, Result};
use crate::json::Raw;
use crate::session::parse;
use crate::terminal;

#[derive(Subcommand)]
pub(crate) enum RoleCommand {
    /// List built-in and custom roles
    #[command(after_help = "Examples:\n  gpuaas role list")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one role with its permissions
    #[command(after_help = "Examples:\n  gpuaas role get project-admin")]
    Get {
        /// Id or slug
        role: String,
    },
    /// Create a custom role
    #[command(
        after_help = "Examples:\n  gpuaas role create auditor --permission audit.read --permission audit.verify"
    )]
    Create {
        /// Lower-case letters, digits and single hyphens
        slug: String,
        /// For people to read; the slug unless given
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
        /// A permission to hold; see `gpuaas role permissions`. Can be repeated
        #[arg(long = "permission", value_name = "KEY", required = true)]
        permissions: Vec<String>,
    },
    /// Change a custom role
    #[command(after_help = "Examples:\n  gpuaas role update auditor --permission audit.read")]
    Update {
        /// Id or slug
        role: String,
        /// The new name
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
        /// All permissions it shall hold from now on. Can be repeated
        #[arg(long = "permission", value_name = "KEY")]
        permissions: Vec<String>,
    },
    /// Delete a custom role that nobody holds
    #[command(after_help = "Examples:\n  gpuaas role delete auditor --yes")]
    Delete {
        /// Id or slug
        role: String,
    },
    /// List every permission with its meaning
    #[command(after_help = "Examples:\n  gpuaas role permissions")]
    Permissions,
    /// Give a role on the whole platform
    #[command(after_help = "Examples:\n  gpuaas role bind platform-admin --user ada@example.org")]
    Bind {
        /// The role's slug or id
        role: String,
        #[command(flatten)]
        holder: Holder,
    },
    /// Take a platform role away
    #[command(after_help = "Examples:\n  gpuaas role bindings\n  gpuaas role unbind BINDING_ID --yes")]
    Unbind {
        /// The binding's id, as `bindings` shows it
        binding: String,
    },
    /// Show who holds which role on the platform
    #[command(after_help = "Examples:\n  gpuaas role bindings")]
    Bindings {
        #[command(flatten)]
        limit: ListLimit,
    },
}

pub(crate) async fn run(app: &App, command: RoleCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        RoleCommand::List { limit } => {
            let list = session.list(Route::RoleList, &[], &(), limit.get()).await?;
            printer.list::<Role>(&list)
        }
        RoleCommand::Get { role } => {
            let id = session.role(&role).await?;
            printer.object(&session.read(Route::RoleGet, &[&id]).await?)
        }
        RoleCommand::Create { slug, display_name, permissions } => {
            let body = NewRole { slug: slug.clone(), display_name, permissions };
            printer.object(&session.write(Route::RoleCreate, &[], &body).await?)?;
            printer.note(&format!("Created role {slug}."));
            Ok(())
        }
        RoleCommand::Update { role, display_name, permissions } => {
            let permissions = (!permissions.is_empty()).then_some(permissions);
            if display_name.is_none() && permissions.is_none() {
                return Err(Failure::usage("nothing to change").fix("pass --display-name or --permission"));
            }
            let id = session.role(&role).await?;
            let body = RoleUpdate { display_name, permissions };
            printer.object(&session.write(Route::RoleUpdate, &[&id], &body).await?)?;
            printer.note(&format!("Changed role {role}."));
            Ok(())
        }
        RoleCommand::Delete { role } => {
            let id = session.role(&role).await?;
            terminal::confirm(app, &format!("Role {role} will be deleted."))?;
            printer.object(&session.remove(Route::RoleDelete, &[&id], None).await?)?;
            printer.note(&format!("Deleted role {role}."));
            Ok(())
        }
        RoleCommand::Permissions => {
            let raw = session.read(Route::PermissionList, &[]).await?;
            printer.list::<PermissionView>(&parse::<List<Raw>>(&raw)?)
        }
        RoleCommand::Bind { role, holder } => place::bind(&session, Place::Platform, role, holder).await,
        RoleCommand::Unbind { binding } => place::unbind(&session, Place::Platform, &binding).await,
        RoleCommand::Bindings { limit } => place::bindings(&session, Place::Platform, limit.get()).await,
    }
}
