//! Running a vendor's tool: by argv, never a shell, with an end in time and a bound on what it may say.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// More than any machine's list of GPUs.
const MAX_OUTPUT: u64 = 1024 * 1024;

pub(super) struct Tools {
    pub(super) search_path: String,
    pub(super) timeout: Duration,
}

/// What a tool said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// None where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    /// The line that says most: tools write their errors to either stream.
    pub(super) fn first_line(&self) -> String {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or("no words").chars().take(300).collect()
    }

    pub(super) fn ending(&self) -> String {
        self.code.map_or_else(|| "was killed".to_owned(), |code| format!("ended with code {code}"))
    }
}

impl Tools {
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let folders = self.search_path.split(':').filter(|folder| folder.starts_with('/'));
        folders.map(|folder| Path::new(folder).join(name)).find(|path| {
            path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        })
    }

    /// What the tool says, or a sentence about why it says nothing.
    pub(super) async fn run(&self, tool: &Path, arguments: &[&str]) -> Result<Said, String> {
        let name = tool.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut child = tokio::process::Command::new(tool)
            .args(arguments)
            .env_clear()
            .env("PATH", &self.search_path)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{name} cannot be run: {error}."))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let whole = async {
            let (stdout, stderr) = tokio::join!(capped(out), capped(err));
            (child.wait().await, stdout, stderr)
        };
        match tokio::time::timeout(self.timeout, whole).await {
            Ok((Ok(status), Some(stdout), Some(stderr))) => Ok(Said { code: status.code(), stdout, stderr }),
            Ok((Ok(_), _, _)) => Err(format!("{name} said more than {MAX_OUTPUT} bytes.")),
            Ok((Err(error), _, _)) => Err(format!("{name} cannot be waited for: {error}.")),
            Err(_) => Err(format!("{name} did not end within {} s.", self.timeout.as_secs())),
        }
    }
}

/// All of a stream, or `None` if it is too much. What is too much is not read on: the tool gets a broken pipe.
async fn capped(stream: Option<impl AsyncRead + Unpin>) -> Option<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MAX_OUTPUT + 1).read_to_end(&mut bytes).await.ok()?;
    }
    let fits = bytes.len() as u64 <= MAX_OUTPUT;
    fits.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
