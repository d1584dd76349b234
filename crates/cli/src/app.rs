//! What every command is given: the global flags, the environment, the printer, and the way to a platform.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gpuaas_api::client::{Client, ClientOptions};
use gpuaas_domain::Secret;

use crate::args::Globals;
use crate::config::{Config, Context, Environment, same_platform};
use crate::failure::{Failure, Result};
use crate::files;
use crate::printer::Printer;
use crate::session::Session;

const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct App {
    pub(crate) globals: Globals,
    pub(crate) env: Environment,
    pub(crate) printer: Printer,
}

/// Where to call and as whom, after flags, environment and context file have had their say, in that order.
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) token: Option<Secret<String>>,
    pub(crate) ca_file: Option<PathBuf>,
    /// The context in use, if its platform is the one called.
    pub(crate) context: Option<Context>,
}

impl App {
    pub(crate) fn new(globals: Globals, env: Environment) -> Self {
        let printer = Printer::new(globals.output, env.no_color);
        Self { globals, env, printer }
    }

    pub(crate) fn load_config(&self) -> Result<(PathBuf, Config)> {
        let path = self.env.config_path()?;
        if files::is_exposed(&path) {
            self.printer.warn(&format!("{} can be read by others; run: chmod 600 {0}", path.display()));
        }
        let config = Config::load(&path)?;
        Ok((path, config))
    }

    /// The context named by flag or environment.
    pub(crate) fn named_context(&self) -> Option<&str> {
        self.globals.context.as_deref().or(self.env.context.as_deref())
    }

    pub(crate) fn target(&self) -> Result<Target> {
        let (_, config) = self.load_config()?;
        let context = config.find(self.named_context())?.map(|(_, context)| context.clone());
        let given = self.globals.url.as_ref().or(self.env.url.as_ref());
        // A context's token and CA belong to its own URL; another URL gets neither.
        let context = context.filter(|context| given.is_none_or(|url| same_platform(url, &context.url)));
        let url = given.cloned().or_else(|| context.as_ref().map(|context| context.url.clone())).ok_or_else(
            || {
                Failure::not_signed_in(
                    "no platform is named: there is no --url, no GPUAAS_URL and no current context",
                )
            },
        )?;
        let token = match (&self.globals.token_file, &self.env.token, &context) {
            (Some(path), _, _) => Some(self.token_from(path)?),
            (None, Some(token), _) => Some(Secret::new(token.expose().clone())),
            (None, None, Some(context)) => context.token.clone().map(Secret::new),
            (None, None, None) => None,
        };
        let ca_file = self.ca_file().or_else(|| context.as_ref().and_then(|context| context.ca_file.clone()));
        Ok(Target { url, token, ca_file, context })
    }

    /// The CA file named by flag or environment.
    pub(crate) fn ca_file(&self) -> Option<PathBuf> {
        self.globals.ca_file.clone().or_else(|| self.env.ca_file.clone())
    }

    fn token_from(&self, path: &Path) -> Result<Secret<String>> {
        if files::is_exposed(path) {
            self.printer.warn(&format!("{} can be read by others; run: chmod 600 {0}", path.display()));
        }
        let token = files::read_text(path)?.trim().to_owned();
        if token.is_empty() || token.contains(char::is_whitespace) {
            return Err(Failure::usage(format!("{} does not hold exactly one token", path.display())));
        }
        Ok(Secret::new(token))
    }

    pub(crate) fn client(
        &self,
        url: &str,
        token: Option<Secret<String>>,
        ca_file: Option<&Path>,
    ) -> Result<Client> {
        let read = |path: &Path| std::fs::read(path).map_err(|source| Failure::file("read", path, &source));
        let ca_pem = ca_file.map(read).transpose()?;
        let client =
            Client::new(ClientOptions { base_url: url.to_owned(), token, ca_pem, timeout: TIMEOUT })?;
        Ok(match &self.globals.correlation_id {
            Some(id) => client.with_correlation_id(id.clone()),
            None => client,
        })
    }

    /// A signed-in session; refused here rather than by the server, because here we know what to do about it.
    pub(crate) fn session(&self) -> Result<Session<'_>> {
        let Target { url, token, ca_file, context } = self.target()?;
        if token.is_none() {
            return Err(Failure::not_signed_in(format!("there is no token for {url}")));
        }
        let client = self.client(&url, token, ca_file.as_deref())?;
        Ok(Session::new(self, client, url, context.unwrap_or_default()))
    }
}
