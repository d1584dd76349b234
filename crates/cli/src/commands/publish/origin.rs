//! Where an image comes from, in names that may be told: commit and repository, never what opens them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::source::Origin;

pub(crate) const BUILDER: &str = "gpuaas app publish";
/// Types of statements are addresses that need not exist.
const BUILD_TYPE: &str = "urn:gpuaas:app-publish:1";
const BUILDER_ID: &str = "urn:gpuaas:app-publish";

pub(crate) type Facts = BTreeMap<String, String>;

/// What git knows of a folder; without git, or outside of a work tree, only who built.
pub(crate) async fn facts(folder: &Path) -> Facts {
    let mut facts = Facts::from([("builder".to_owned(), BUILDER.to_owned())]);
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Some(commit) = git(folder, &["rev-parse", "HEAD"]).await else { return facts };
    facts.insert("commit".to_owned(), commit);
    if let Some(remote) = git(folder, &["config", "--get", "remote.origin.url"]).await
        && let Some(remote) = without_credentials(&remote)
    {
        facts.insert("repository".to_owned(), remote);
    }
    if git(folder, &["status", "--porcelain", "--", "."]).await.is_some() {
        facts.insert("changed".to_owned(), "yes, beyond the commit".to_owned());
    }
    facts
}

/// The answer's only line, if there is one.
async fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // The folder may be a stranger's: its settings must not name a program.
    command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]).env_remove("GPUAAS_TOKEN");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// An address without user, password, query and fragment. None for a path of this machine.
fn without_credentials(remote: &str) -> Option<String> {
    let end = remote.find(['?', '#']).unwrap_or(remote.len());
    let remote = &remote[..end];
    if let Some((scheme, rest)) = remote.split_once("://") {
        let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        let known = ["https", "http", "ssh", "git"].contains(&scheme) && !host.is_empty();
        return known.then(|| format!("{scheme}://{host}/{path}"));
    }
    // `user@host:path`, as ssh has it.
    let (place, path) = remote.split_once(':')?;
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    // `ext::…` is a command, not a place.
    let is_host = !host.is_empty() && !host.contains('/') && !path.starts_with(':');
    is_host.then(|| format!("ssh://{host}/{}", path.trim_start_matches('/')))
}

/// SLSA's provenance, version 1: made by this program, from this commit.
pub(crate) fn provenance(slug: &str, version: &str, image: &Origin, facts: &Facts) -> Value {
    let mut parameters = json!({"app": slug, "version": version, "from": image.from.to_string()});
    if let Some(variant) = &image.variant {
        parameters["variant"] = json!(variant);
    }
    let mut definition = json!({"buildType": BUILD_TYPE, "externalParameters": parameters});
    if let Some(commit) = facts.get("commit") {
        let mut source = json!({"digest": {"gitCommit": commit}});
        if let Some(repository) = facts.get("repository") {
            source["uri"] = json!(format!("git+{repository}"));
        }
        definition["resolvedDependencies"] = json!([source]);
    }
    if facts.contains_key("changed") {
        definition["internalParameters"] = json!({"changed_beyond_commit": true});
    }
    json!({
        "buildDefinition": definition,
        "runDetails": {"builder": {"id": BUILDER_ID, "version": {"gpuaas": env!("CARGO_PKG_VERSION")}}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::From;

    #[test]
    fn an_address_never_carries_what_opens_it() {
        for (remote, told) in [
            ("https://ada:s3cret@git.example.org/lab/app.git", Some("https://git.example.org/lab/app.git")),
            ("https://s3cret@git.example.org/a?token=s3cret#s3cret", Some("https://git.example.org/a")),
            ("https://a@b:s3cret@git.example.org/a", Some("https://git.example.org/a")),
            ("git@git.example.org:lab/app.git", Some("ssh://git.example.org/lab/app.git")),
            ("ssh://git@git.example.org:2222/lab", Some("ssh://git.example.org:2222/lab")),
            ("/srv/git/app.git", None),
            ("./a:b", None),
            ("file:///srv/git", None),
            ("ext::sh -c s3cret", None),
        ] {
            let found = without_credentials(remote);
            assert_eq!(found.as_deref(), told, "{remote}");
            assert!(!found.unwrap_or_default().contains("s3cret"));
        }
    }

    #[tokio::test]
    async fn outside_of_a_work_tree_only_the_builder_is_known() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(facts(folder.path()).await, Facts::from([("builder".to_owned(), BUILDER.to_owned())]));
    }

    #[test]
    fn provenance_names_commit_and_repository() {
        let facts = Facts::from([
            ("commit".to_owned(), "abc".to_owned()),
            ("repository".to_owned(), "https://git.example.org/lab".to_owned()),
        ]);
        let image = Origin { from: From::Build("image".into()), variant: Some("cpu".into()), tag: None };
        let told = provenance("hello", "1.0.0", &image, &facts);
        assert_eq!(
            told["buildDefinition"],
            json!({"buildType": BUILD_TYPE,
                "externalParameters": {"app": "hello", "version": "1.0.0", "from": "build image", "variant": "cpu"},
                "resolvedDependencies": [{"uri": "git+https://git.example.org/lab", "digest": {"gitCommit": "abc"}}]})
        );
    }
}
