//! People and their accounts.

use clap::Subcommand;
use gpuaas_api::Route;
use gpuaas_api::identity::{User, UserUpdate};

use crate::app::App;
use crate::args::{ListLimit, Reason};
use crate::failure::{Failure, Result};
use crate::terminal;

#[derive(Subcommand)]
pub(crate) enum UserCommand {
    /// List the people of the platform
    #[command(after_help = "Examples:\n  gpuaas user list")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one person
    #[command(after_help = "Examples:\n  gpuaas user get ada@example.org")]
    Get {
        /// Id or e-mail address
        user: String,
    },
    /// Create an account for a person
    ///
    /// Without --password-stdin the platform makes a password and shows it once.
    #[command(
        after_help = "Examples:\n  gpuaas user create ada@example.org --display-name 'Ada Lovelace'\n  gpuaas user create ci@example.org --password-stdin < password.txt"
    )]
    Create {
        /// E-mail address
        email: String,
        /// For people to read
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change a person's name or e-mail address
    #[command(after_help = "Examples:\n  gpuaas user update ada@example.org --email ada@new.example.org")]
    Update {
        /// Id or e-mail address
        user: String,
        /// The new address
        #[arg(long)]
        email: Option<String>,
        /// The new name
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
    },
    /// Give a person a new password, shown once; ends all their sessions
    #[command(after_help = "Examples:\n  gpuaas user reset-password ada@example.org --yes")]
    ResetPassword {
        /// Id or e-mail address
        user: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Suspend a person: sessions and tokens stop working at once
    #[command(after_help = "Examples:\n  gpuaas user suspend ada@example.org --reason 'left the team' --yes")]
    Suspend {
        /// Id or e-mail address
        user: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Resume a suspended person
    #[command(after_help = "Examples:\n  gpuaas user resume ada@example.org")]
    Resume {
        /// Id or e-mail address
        user: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Delete a person; personal data is erased, the trail keeps the id
    #[command(after_help = "Examples:\n  gpuaas user delete ada@example.org --yes")]
    Delete {
        /// Id or e-mail address
        user: String,
        #[command(flatten)]
        reason: Reason,
    },
}

pub(crate) async fn run(app: &App, command: UserCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        UserCommand::List { limit } => {
            let list = session.list(Route::UserList, &[], &(), limit.get()).await?;
            printer.list::<User>(&list)
        }
        UserCommand::Get { user } => {
            let id = session.user(&user).await?;
            printer.object(&session.read(Route::UserGet, &[&id]).await?)
        }
        UserCommand::Create { email, display_name, password_stdin } => {
            // The request type is for reading only, so that no password is serialised by accident.
            let mut body = serde_json::json!({"email": email});
            if let Some(name) = display_name {
                body["display_name"] = name.into();
            }
            if password_stdin {
                body["password"] = terminal::secret_from_stdin()?.expose().as_str().into();
            }
            printer.object(&session.write(Route::UserCreate, &[], &body).await?)?;
            printer.note(&format!("Created {email}. They hold no role yet: gpuaas project bind PROJECT --role ROLE --user {email}"));
            if !password_stdin {
                printer.note("The initial password is shown now and never again.");
            }
            Ok(())
        }
        UserCommand::Update { user, email, display_name } => {
            if email.is_none() && display_name.is_none() {
                return Err(Failure::usage("nothing to change").fix("pass --email or --display-name"));
            }
            let id = session.user(&user).await?;
            printer.object(
                &session.write(Route::UserUpdate, &[&id], &UserUpdate { email, display_name }).await?,
            )?;
            printer.note(&format!("Changed {user}."));
            Ok(())
        }
        UserCommand::ResetPassword { user, reason } => {
            let id = session.user(&user).await?;
            terminal::confirm(app, &format!("{user} will be signed out everywhere and get a new password."))?;
            let done = format!("Reset the password of {user}; it is shown now and never again.");
            session.act(Route::UserResetPassword, &[&id], reason.reason, &done).await
        }
        UserCommand::Suspend { user, reason } => {
            let id = session.user(&user).await?;
            terminal::confirm(app, &format!("{user} will be suspended."))?;
            session.act(Route::UserSuspend, &[&id], reason.reason, &format!("Suspended {user}.")).await
        }
        UserCommand::Resume { user, reason } => {
            let id = session.user(&user).await?;
            session.act(Route::UserResume, &[&id], reason.reason, &format!("Resumed {user}.")).await
        }
        UserCommand::Delete { user, reason } => {
            let id = session.user(&user).await?;
            terminal::confirm(app, &format!("{user} will be deleted and their personal data erased."))?;
            printer.object(&session.remove(Route::UserDelete, &[&id], reason.reason.as_deref()).await?)?;
            printer.note(&format!("Deleted {user}."));
            Ok(())
        }
    }
}
