//! Where things run and are charged; each belongs to one tenant.

use clap::Subcommand;
use gpuaas_api::Route;
use gpuaas_api::identity::{NewProject, Project, Rename};

use super::place::{self, Holder, Place};
use crate::app::App;
use crate::args::{ListLimit, Reason};
use crate::failure::Result;
use crate::terminal;

#[derive(Subcommand)]
pub(crate) enum ProjectCommand {
    /// List the projects you can see, or those of one tenant
    #[command(after_help = "Examples:\n  gpuaas project list\n  gpuaas project list --tenant acme")]
    List {
        /// Only this tenant's projects (id or slug); all you can see unless given
        #[arg(long)]
        tenant: Option<String>,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one project
    #[command(after_help = "Examples:\n  gpuaas project get lab\n  gpuaas project get -o json")]
    Get {
        /// Id or slug; the context's default unless given
        project: Option<String>,
    },
    /// Create a project; its slug never changes
    #[command(after_help = "Examples:\n  gpuaas project create lab --tenant acme")]
    Create {
        /// Lower-case letters, digits and single hyphens, unique on the platform
        slug: String,
        /// The tenant it belongs to (id or slug); the context's default unless given
        #[arg(long)]
        tenant: Option<String>,
        /// For people to read; the slug unless given
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
    },
    /// Change a project's display name
    #[command(after_help = "Examples:\n  gpuaas project rename lab 'A new name'")]
    Rename {
        /// Id or slug
        project: String,
        /// The new display name
        display_name: String,
    },
    /// Suspend a project: nothing in it can be started or changed
    #[command(after_help = "Examples:\n  gpuaas project suspend lab --reason 'unpaid since May' --yes")]
    Suspend {
        /// Id or slug
        project: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Resume a suspended project
    #[command(after_help = "Examples:\n  gpuaas project resume lab --reason paid")]
    Resume {
        /// Id or slug
        project: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Delete a project that holds nothing alive; its slug stays taken
    #[command(after_help = "Examples:\n  gpuaas project delete lab --yes")]
    Delete {
        /// Id or slug
        project: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Show a project's limits
    #[command(after_help = "Examples:\n  gpuaas project limits lab")]
    Limits {
        /// Id or slug; the context's default unless given
        project: Option<String>,
    },
    /// Set one of a project's limits
    #[command(after_help = "Examples:\n  gpuaas project set-limit lab service_accounts 20")]
    SetLimit {
        /// Id or slug
        project: String,
        /// The limit's name, as `limits` shows it
        limit: String,
        /// The new value
        #[arg(value_parser = clap::value_parser!(i64).range(0..=gpuaas_domain::limit::Limit::MAX))]
        value: i64,
    },
    /// Give a role in a project
    #[command(
        after_help = "Examples:\n  gpuaas project bind lab --role project-admin --user ada@example.org"
    )]
    Bind {
        /// Id or slug
        project: String,
        /// The role's slug or id
        #[arg(long)]
        role: String,
        #[command(flatten)]
        holder: Holder,
    },
    /// Take a role in a project away
    #[command(
        after_help = "Examples:\n  gpuaas project bindings lab\n  gpuaas project unbind lab BINDING_ID --yes"
    )]
    Unbind {
        /// Id or slug
        project: String,
        /// The binding's id, as `bindings` shows it
        binding: String,
    },
    /// Show who holds which role in a project
    #[command(after_help = "Examples:\n  gpuaas project bindings lab")]
    Bindings {
        /// Id or slug; the context's default unless given
        project: Option<String>,
        #[command(flatten)]
        limit: ListLimit,
    },
}

pub(crate) async fn run(app: &App, command: ProjectCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        ProjectCommand::List { tenant, limit } => {
            let list = match tenant.as_ref().or(session.context.tenant.as_ref()) {
                Some(tenant) => {
                    let id = session.tenant(tenant).await?;
                    session.list(Route::ProjectList, &[&id], &(), limit.get()).await?
                }
                None => session.list(Route::ProjectListMine, &[], &(), limit.get()).await?,
            };
            printer.list::<Project>(&list)
        }
        ProjectCommand::Get { project } => {
            let id = session.project_or_default(project.as_deref()).await?;
            printer.object(&session.read(Route::ProjectGet, &[&id]).await?)
        }
        ProjectCommand::Create { slug, tenant, display_name } => {
            let tenant = session.tenant_or_default(tenant.as_deref()).await?;
            let body = NewProject { slug: slug.clone(), display_name };
            let raw = session.write(Route::ProjectCreate, &[&tenant], &body).await?;
            printer.object(&raw)?;
            printer.note(&format!(
                "Created project {slug}. Make it the default with: gpuaas context set-project {slug}"
            ));
            Ok(())
        }
        ProjectCommand::Rename { project, display_name } => {
            let id = session.project(&project).await?;
            let raw = session.write(Route::ProjectUpdate, &[&id], &Rename { display_name }).await?;
            printer.object(&raw)?;
            printer.note(&format!("Renamed project {project}."));
            Ok(())
        }
        ProjectCommand::Suspend { project, reason } => {
            let id = session.project(&project).await?;
            terminal::confirm(app, &format!("Project {project} will be suspended."))?;
            session
                .act(Route::ProjectSuspend, &[&id], reason.reason, &format!("Suspended project {project}."))
                .await
        }
        ProjectCommand::Resume { project, reason } => {
            let id = session.project(&project).await?;
            session
                .act(Route::ProjectResume, &[&id], reason.reason, &format!("Resumed project {project}."))
                .await
        }
        ProjectCommand::Delete { project, reason } => {
            let id = session.project(&project).await?;
            terminal::confirm(app, &format!("Project {project} will be deleted for ever."))?;
            printer.object(&session.remove(Route::ProjectDelete, &[&id], reason.reason.as_deref()).await?)?;
            printer.note(&format!("Deleted project {project}."));
            Ok(())
        }
        ProjectCommand::Limits { project } => {
            let id = session.project_or_default(project.as_deref()).await?;
            place::limits(&session, Place::Project(id)).await
        }
        ProjectCommand::SetLimit { project, limit, value } => {
            let id = session.project(&project).await?;
            place::set_limit(&session, Place::Project(id), &limit, value).await
        }
        ProjectCommand::Bind { project, role, holder } => {
            let id = session.project(&project).await?;
            place::bind(&session, Place::Project(id), role, holder).await
        }
        ProjectCommand::Unbind { project, binding } => {
            let id = session.project(&project).await?;
            place::unbind(&session, Place::Project(id), &binding).await
        }
        ProjectCommand::Bindings { project, limit } => {
            let id = session.project_or_default(project.as_deref()).await?;
            place::bindings(&session, Place::Project(id), limit.get()).await
        }
    }
}
