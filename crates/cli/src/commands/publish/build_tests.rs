//! Builds by programs that work, fail, and leave nothing.

use std::os::unix::fs::PermissionsExt as _;

use clap::FromArgMatches as _;
use gpuaas_oci::ImageBuilder;

use super::*;
use crate::app::App;
use crate::args::Cli;
use crate::config::{Context, Environment};
use crate::session::Session;

fn app() -> App {
    let matches = crate::command().get_matches_from(["gpuaas", "-o", "json", "whoami"]);
    App::new(Cli::from_arg_matches(&matches).unwrap().globals, Environment::default())
}

fn code(failure: &Failure) -> String {
    failure.body().unwrap().error.code
}

/// What came of building an image with this script.
async fn built(script: &str, variant: Option<&str>) -> Result<Built> {
    let folder = tempfile::tempdir().unwrap();
    let image = ImageBuilder::new("amd64").file("x", 0o644, b"x".to_vec()).build().unwrap();
    std::fs::write(folder.path().join("ready.tar"), image.to_archive(Some("a:1"))).unwrap();
    let program = folder.path().join("build");
    std::fs::write(&program, format!("#!/bin/sh\nset -e\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let app = app();
    let client = app.client("http://localhost:1", None, None).unwrap();
    let session = Session::new(&app, client, "http://localhost:1".into(), Context::default());
    let report = Report::new(&session, "a", "A", false);
    let variant = variant.map(str::to_owned);
    let origin = Origin { from: From::Build(".".into()), variant, tag: None };
    build(&report, &app.printer, folder.path(), &origin, &(0..50)).await
}

#[tokio::test]
async fn a_program_leaves_an_archive_or_a_layout() {
    let archive =
        built(r#"echo "progress: 40 copying" >&2; cp ready.tar "$1/image.tar""#, None).await.ok().unwrap();
    let layout = built(r#"tar -xf ready.tar -C "$1""#, None).await.ok().unwrap();
    assert_eq!(archive.entry.digest, layout.entry.digest);
    assert!(archive.size > archive.entry.size);
    built(r#"[ "$GPUAAS_VARIANT" = cpu ] && cp ready.tar "$1/image.tar""#, Some("cpu")).await.ok().unwrap();
}

#[tokio::test]
async fn a_build_that_fails_says_why() {
    let failure = built("echo working; echo 'no space left' >&2; exit 3", None).await.err().unwrap();
    let message = failure.body().unwrap().error.message;
    assert_eq!((failure.exit_code(), code(&failure)), (1, "build_failed".to_owned()));
    assert!(message.contains("no space left") && message.contains('3'), "{message}");
    let failure = built("true", None).await.err().unwrap();
    assert!(failure.body().unwrap().error.message.contains("neither an OCI layout nor image.tar"));
    let failure = built(r#"echo x > "$1/image.tar""#, None).await.err().unwrap();
    assert_eq!((failure.exit_code(), code(&failure)), (2, "not_an_image".to_owned()));
}

#[test]
fn progress_is_read_from_what_builds_say() {
    let read = |line| progress_in(line).map(|(percent, what)| (percent, what.leak() as &str));
    assert_eq!(read("progress: 40 compiling the kernel"), Some((40, "compiling the kernel")));
    assert_eq!(read("progress:100%"), Some((100, "")));
    for line in ["progress: 101 x", "progress: soon", "in progress: 3", "progress"] {
        assert_eq!(read(line), None, "{line}");
    }
    assert_eq!(step_in("Step 2/7 : RUN x"), Some((2, 7)));
    assert_eq!(step_in("#5 [2/7] RUN x"), Some((2, 7)));
    assert_eq!(step_in("#5 [stage 3/4] RUN x"), Some((3, 4)));
    for line in ["Step x/y", "#5 sha256:abc 1/2", "see Step 1/2", "Step 1/0 : x"] {
        assert_eq!(step_in(line), None, "{line}");
    }
}

#[tokio::test]
async fn an_archive_of_an_older_engine_is_unpacked_and_a_stranger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar");
    std::fs::write(&path, b"x").unwrap();
    let refused = unpack(&path, &folder.path().join("out"), |_, _| ()).await;
    assert!(refused.is_err());
    assert_eq!(
        stage_of(&Origin { from: From::Docker("a".into()), variant: Some("cpu".into()), tag: None }),
        "saving the image for cpu"
    );
}
