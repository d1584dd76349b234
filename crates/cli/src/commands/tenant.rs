//! Customers of the platform.

use clap::Subcommand;
use gpuaas_api::Route;
use gpuaas_api::identity::{NewTenant, Rename, Tenant};

use super::place::{self, Holder, Place};
use crate::app::App;
use crate::args::{ListLimit, Reason};
use crate::failure::Result;
use crate::terminal;

#[derive(Subcommand)]
pub(crate) enum TenantCommand {
    /// List the tenants you can see
    #[command(after_help = "Examples:\n  gpuaas tenant list")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one tenant
    #[command(after_help = "Examples:\n  gpuaas tenant get acme\n  gpuaas tenant get -o json")]
    Get {
        /// Id or slug; the context's default unless given
        tenant: Option<String>,
    },
    /// Create a tenant; its slug never changes
    #[command(after_help = "Examples:\n  gpuaas tenant create acme --display-name 'Acme Ltd'")]
    Create {
        /// Lower-case letters, digits and single hyphens, unique on the platform
        slug: String,
        /// For people to read; the slug unless given
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
    },
    /// Change a tenant's display name
    #[command(after_help = "Examples:\n  gpuaas tenant rename acme 'A new name'")]
    Rename {
        /// Id or slug
        tenant: String,
        /// The new display name
        display_name: String,
    },
    /// Suspend a tenant: nothing in it can be started or changed
    #[command(after_help = "Examples:\n  gpuaas tenant suspend acme --reason 'unpaid since May' --yes")]
    Suspend {
        /// Id or slug
        tenant: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Resume a suspended tenant
    #[command(after_help = "Examples:\n  gpuaas tenant resume acme --reason paid")]
    Resume {
        /// Id or slug
        tenant: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Delete a tenant that holds nothing alive; its slug stays taken
    #[command(after_help = "Examples:\n  gpuaas tenant delete acme --yes")]
    Delete {
        /// Id or slug
        tenant: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Show a tenant's limits
    #[command(after_help = "Examples:\n  gpuaas tenant limits acme")]
    Limits {
        /// Id or slug; the context's default unless given
        tenant: Option<String>,
    },
    /// Set one of a tenant's limits
    #[command(after_help = "Examples:\n  gpuaas tenant set-limit acme projects 20")]
    SetLimit {
        /// Id or slug
        tenant: String,
        /// The limit's name, as `limits` shows it
        limit: String,
        /// The new value
        #[arg(value_parser = clap::value_parser!(i64).range(0..=gpuaas_domain::limit::Limit::MAX))]
        value: i64,
    },
    /// Give a role in a tenant
    #[command(after_help = "Examples:\n  gpuaas tenant bind acme --role tenant-admin --user ada@example.org")]
    Bind {
        /// Id or slug
        tenant: String,
        /// The role's slug or id
        #[arg(long)]
        role: String,
        #[command(flatten)]
        holder: Holder,
    },
    /// Take a role in a tenant away
    #[command(
        after_help = "Examples:\n  gpuaas tenant bindings acme\n  gpuaas tenant unbind acme BINDING_ID --yes"
    )]
    Unbind {
        /// Id or slug
        tenant: String,
        /// The binding's id, as `bindings` shows it
        binding: String,
    },
    /// Show who holds which role in a tenant
    #[command(after_help = "Examples:\n  gpuaas tenant bindings acme")]
    Bindings {
        /// Id or slug; the context's default unless given
        tenant: Option<String>,
        #[command(flatten)]
        limit: ListLimit,
    },
}

pub(crate) async fn run(app: &App, command: TenantCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        TenantCommand::List { limit } => {
            let list = session.list(Route::TenantList, &[], &(), limit.get()).await?;
            printer.list::<Tenant>(&list)
        }
        TenantCommand::Get { tenant } => {
            let id = session.tenant_or_default(tenant.as_deref()).await?;
            printer.object(&session.read(Route::TenantGet, &[&id]).await?)
        }
        TenantCommand::Create { slug, display_name } => {
            let raw = session
                .write(Route::TenantCreate, &[], &NewTenant { slug: slug.clone(), display_name })
                .await?;
            printer.object(&raw)?;
            printer.note(&format!("Created tenant {slug}. Next: gpuaas project create SLUG --tenant {slug}"));
            Ok(())
        }
        TenantCommand::Rename { tenant, display_name } => {
            let id = session.tenant(&tenant).await?;
            let raw = session.write(Route::TenantUpdate, &[&id], &Rename { display_name }).await?;
            printer.object(&raw)?;
            printer.note(&format!("Renamed tenant {tenant}."));
            Ok(())
        }
        TenantCommand::Suspend { tenant, reason } => {
            let id = session.tenant(&tenant).await?;
            terminal::confirm(app, &format!("Tenant {tenant} will be suspended."))?;
            session
                .act(Route::TenantSuspend, &[&id], reason.reason, &format!("Suspended tenant {tenant}."))
                .await
        }
        TenantCommand::Resume { tenant, reason } => {
            let id = session.tenant(&tenant).await?;
            session
                .act(Route::TenantResume, &[&id], reason.reason, &format!("Resumed tenant {tenant}."))
                .await
        }
        TenantCommand::Delete { tenant, reason } => {
            let id = session.tenant(&tenant).await?;
            terminal::confirm(app, &format!("Tenant {tenant} will be deleted for ever."))?;
            printer.object(&session.remove(Route::TenantDelete, &[&id], reason.reason.as_deref()).await?)?;
            printer.note(&format!("Deleted tenant {tenant}."));
            Ok(())
        }
        TenantCommand::Limits { tenant } => {
            let id = session.tenant_or_default(tenant.as_deref()).await?;
            place::limits(&session, Place::Tenant(id)).await
        }
        TenantCommand::SetLimit { tenant, limit, value } => {
            let id = session.tenant(&tenant).await?;
            place::set_limit(&session, Place::Tenant(id), &limit, value).await
        }
        TenantCommand::Bind { tenant, role, holder } => {
            let id = session.tenant(&tenant).await?;
            place::bind(&session, Place::Tenant(id), role, holder).await
        }
        TenantCommand::Unbind { tenant, binding } => {
            let id = session.tenant(&tenant).await?;
            place::unbind(&session, Place::Tenant(id), &binding).await
        }
        TenantCommand::Bindings { tenant, limit } => {
            let id = session.tenant_or_default(tenant.as_deref()).await?;
            place::bindings(&session, Place::Tenant(id), limit.get()).await
        }
    }
}
