//! From what a source manifest names to an image in an OCI layout: by a program of the author's, by the local engine, or
//! as it lies there.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gpuaas_oci::manifest::Descriptor;
use gpuaas_oci::{BadLayout, Layout, is_docker_archive, unpack_docker_archive};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Command;

use super::report::Report;
use crate::failure::{Exit, Failure, Result};
use crate::printer::Printer;
use crate::source::{From, Origin, Recipe, recipe};

/// Of what a build said last: enough to see why it failed.
const KEPT_LINES: usize = 30;
const LOOK: Duration = Duration::from_millis(200);

/// An image that can be pushed. Its folder goes with it.
pub(crate) struct Built {
    pub(crate) layout: Layout,
    pub(crate) entry: Descriptor,
    pub(crate) size: u64,
    _folders: Vec<TempDir>,
}

pub(crate) async fn build(
    report: &Report<'_>,
    printer: &Printer,
    base: &Path,
    origin: &Origin,
    share: &Range<u8>,
) -> Result<Built> {
    let stage = stage_of(origin);
    report.stage(&stage, share.start);
    let mut folders = Vec::new();
    let path = match &origin.from {
        From::Layout(path) | From::Archive(path) => base.join(path),
        From::Docker(name) => {
            let out = folder(&mut folders)?;
            save(printer, report, &stage, share, name, &out).await?
        }
        From::Build(path) => {
            let out = folder(&mut folders)?;
            let folder = base.join(path);
            let folder = folder.canonicalize().map_err(|source| Failure::file("open", &folder, &source))?;
            let job = Job { printer, report, stage: &stage, share, origin };
            match recipe(&folder) {
                Some(Recipe::Program(program)) => job.run_program(&program, &folder, &out).await?,
                Some(Recipe::Dockerfile) => job.run_docker(&folder, &out).await?,
                None => return Err(Failure::usage(format!("{} cannot be built", folder.display()))),
            }
        }
    };
    let layout = open(report, &stage, share, path, &mut folders).await?;
    let entry = only_entry(&layout, origin)?;
    let size = check(&layout, &entry)?;
    Ok(Built { layout, entry, size, _folders: folders })
}

fn stage_of(origin: &Origin) -> String {
    let what = match &origin.from {
        From::Build(_) => "building the image",
        From::Docker(_) => "saving the image",
        From::Layout(_) | From::Archive(_) => "reading the image",
    };
    origin.variant.as_ref().map_or_else(|| what.to_owned(), |variant| format!("{what} for {variant}"))
}

fn folder(folders: &mut Vec<TempDir>) -> Result<PathBuf> {
    let made = tempfile::Builder::new().prefix("gpuaas-publish-").tempdir();
    let made = made.map_err(|source| {
        Failure::new(Exit::Usage, "file", format!("no folder can be made to build in: {source}"))
            .fix("set TMPDIR to a folder with room")
    })?;
    let path = made.path().to_path_buf();
    folders.push(made);
    Ok(path)
}

struct Job<'a> {
    printer: &'a Printer,
    report: &'a Report<'a>,
    stage: &'a str,
    share: &'a Range<u8>,
    origin: &'a Origin,
}

impl Job<'_> {
    async fn run_program(&self, program: &Path, folder: &Path, out: &Path) -> Result<PathBuf> {
        let mut command = Command::new(program);
        command.arg(out).current_dir(folder);
        if let Some(variant) = &self.origin.variant {
            command.env("GPUAAS_VARIANT", variant);
        }
        self.run(command, &program.display().to_string()).await?;
        let archive = out.join("image.tar");
        if archive.is_file() {
            return Ok(archive);
        }
        if out.join("oci-layout").is_file() {
            return Ok(out.to_path_buf());
        }
        let message = format!("{} left neither an OCI layout nor image.tar in its folder", program.display());
        Err(Failure::new(Exit::No, "build_failed", message)
            .fix("it is called with an empty folder; `skopeo copy … oci:FOLDER` and `docker save -o FOLDER/image.tar` both do"))
    }

    async fn run_docker(&self, folder: &Path, out: &Path) -> Result<PathBuf> {
        let id_file = out.join("id");
        let mut command = Command::new("docker");
        command.args(["build".as_ref(), "--iidfile".as_ref(), id_file.as_os_str()]);
        if let Some(variant) = &self.origin.variant {
            command.args(["--build-arg", &format!("GPUAAS_VARIANT={variant}")]);
        }
        command.arg(folder);
        self.run(command, "docker build").await?;
        let id =
            std::fs::read_to_string(&id_file).map_err(|source| Failure::file("read", &id_file, &source))?;
        save(self.printer, self.report, self.stage, self.share, id.trim(), out).await
    }

    async fn run(&self, command: Command, what: &str) -> Result<()> {
        // The first half of the share: the image has to be read and perhaps compressed afterwards.
        let middle = self.share.start + (self.share.end - self.share.start) / 2;
        let first = self.share.start..middle;
        let heard = |line: &str| {
            if let Some((step, steps)) = step_in(line) {
                self.report.part(self.stage, &first, step.saturating_sub(1), steps, "");
            }
            let Some((percent, doing)) = progress_in(line) else { return false };
            let aside = if doing.is_empty() { String::new() } else { format!(", {doing}") };
            self.report.part(self.stage, &first, percent.into(), 100, &aside);
            true
        };
        run(self.printer, command, what, &heard).await
    }
}

async fn save(
    printer: &Printer,
    report: &Report<'_>,
    stage: &str,
    share: &Range<u8>,
    name: &str,
    out: &Path,
) -> Result<PathBuf> {
    let path = out.join("saved.tar");
    let mut command = Command::new("docker");
    command.args([OsStr::new("save"), OsStr::new("-o"), path.as_os_str(), OsStr::new(name)]);
    report.part(stage, share, 1, 2, ", saving");
    run(printer, command, "docker save", &|_| false).await?;
    Ok(path)
}

/// All that a program has started, ended with it when nobody waits for its end any more.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It may be over already.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Runs a program to its end. What it says is shown, and its last words are in the failure if there is one.
async fn run(
    printer: &Printer,
    mut command: Command,
    what: &str,
    heard: &dyn Fn(&str) -> bool,
) -> Result<()> {
    // A build has no business with the platform.
    command.env_remove("GPUAAS_TOKEN");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    // At a terminal Ctrl-C reaches all of them anyway, and a build may ask there for a password, which it could not
    // from a group of its own.
    let own_group = !std::io::stdin().is_terminal();
    if own_group {
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(|source| {
        let failure =
            Failure::new(Exit::Usage, "build_failed", format!("{what} cannot be started: {source}"));
        if what.starts_with("docker") {
            failure.fix("install Docker, or let a program `build` in the folder make the image")
        } else {
            failure
        }
    })?;
    let leader = child.id().filter(|_| own_group).and_then(|id| Pid::from_raw(id.cast_signed()));
    let mut group = Group(leader);
    let last: RefCell<VecDeque<String>> = RefCell::default();
    let hear = |line: &str| {
        if heard(line) {
            return;
        }
        printer.aside(line);
        let mut last = last.borrow_mut();
        last.push_back(line.to_owned());
        if last.len() > KEPT_LINES {
            last.pop_front();
        }
    };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ((), (), ended) = tokio::join!(listen(out, &hear), listen(err, &hear), child.wait());
    // What it has left running on purpose goes on.
    group.0 = None;
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let last: Vec<String> = last.into_inner().into();
            let said =
                if last.is_empty() { String::new() } else { format!("; it said last: {}", last.join(" | ")) };
            Err(Failure::new(Exit::No, "build_failed", format!("{what} failed ({status}){said}"))
                .fix("nothing was pushed; mend the build and run the command again"))
        }
        Err(source) => Err(Failure::new(Exit::Trouble, "build_failed", format!("{what}: {source}"))),
    }
}

/// Each line of a stream; of what a progress bar wrote over itself, the last.
async fn listen(stream: Option<impl AsyncRead + Unpin>, hear: &dyn Fn(&str)) {
    let Some(stream) = stream else { return };
    let mut lines = BufReader::new(stream).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end().rsplit('\r').next().unwrap_or_default();
        if !line.is_empty() {
            hear(line);
        }
    }
}

/// How far a build says it is: `progress: 40 compiling`.
fn progress_in(line: &str) -> Option<(u8, String)> {
    let rest = line.strip_prefix("progress:")?.trim();
    let (percent, what) = rest.split_once(' ').unwrap_or((rest, ""));
    let percent: u8 = percent.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)?;
    Some((percent, what.trim().to_owned()))
}

/// Which step of how many an engine is at: `Step 2/7 : RUN …`, or `#5 [2/7] RUN …`.
fn step_in(line: &str) -> Option<(u64, u64)> {
    let rest = line
        .strip_prefix("Step ")
        .or_else(|| line.strip_prefix('#')?.split_once(" [").map(|(_, rest)| rest))?;
    let word = rest.split([' ', ']']).find(|word| word.contains('/'))?;
    let (step, steps) = word.split_once('/')?;
    Some((step.parse().ok()?, steps.parse().ok().filter(|steps| *steps > 0)?))
}

/// The layout at a path; made of an engine's archive first where that is what lies there.
async fn open(
    report: &Report<'_>,
    stage: &str,
    share: &Range<u8>,
    path: PathBuf,
    folders: &mut Vec<TempDir>,
) -> Result<Layout> {
    let bad = |path: &Path, why: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, "not_an_image", format!("{} is no image: {why}", path.display()))
    };
    match Layout::open(&path) {
        Ok(layout) => return Ok(layout),
        Err(BadLayout::NoLayout { .. }) if path.is_file() && is_docker_archive(&path) => {}
        Err(why) => return Err(bad(&path, &why)),
    }
    let into = folder(folders)?;
    let middle = share.start + (share.end - share.start) / 2;
    unpack(&path, &into, |done, total| {
        report.part(stage, &(middle..share.end), done, total, ", compressing");
    })
    .await
    .map_err(|why| bad(&path, &why))?;
    Layout::open(&into).map_err(|why| bad(&path, &why))
}

/// Tells a thread to stop when nobody waits for it any more.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn unpack(path: &Path, into: &Path, told: impl Fn(u64, u64)) -> Result<(), String> {
    let stop = Stop(Arc::default());
    let (stopped, done, total) = (stop.0.clone(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
    let (path, into) = (path.to_path_buf(), into.to_path_buf());
    let counts = (done.clone(), total.clone());
    let mut work = tokio::task::spawn_blocking(move || {
        unpack_docker_archive(&path, &into, &|so_far, of| {
            counts.0.store(so_far, Ordering::Relaxed);
            counts.1.store(of, Ordering::Relaxed);
            !stopped.load(Ordering::Relaxed)
        })
    });
    loop {
        tokio::select! {
            ended = &mut work => {
                return match ended {
                    Ok(ended) => ended.map_err(|why| why.to_string()),
                    Err(why) => Err(why.to_string()),
                };
            }
            () = tokio::time::sleep(LOOK) => told(done.load(Ordering::Relaxed), total.load(Ordering::Relaxed)),
        }
    }
}

fn only_entry(layout: &Layout, origin: &Origin) -> Result<Descriptor> {
    match layout.entries() {
        [only] => Ok(only.clone()),
        entries => {
            let message =
                format!("{} holds {} images; one is published at a time", origin.from, entries.len());
            Err(Failure::new(Exit::Usage, "not_one_image", message).fix("save exactly one image into it"))
        }
    }
}

/// That a node could run it, before a byte of it travels. Gives the bytes of all parts.
fn check(layout: &Layout, entry: &Descriptor) -> Result<u64> {
    let bad = |why: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, "not_an_image", format!("no node could run the image: {why}"))
    };
    let images = layout.images(entry).map_err(|why| bad(&why))?;
    // Beside the images an index may have statements about them.
    let runnable = images.iter().map(|image| image.manifest.check_runnable());
    if let Some(Err(why)) = runnable.reduce(|one, other| if one.is_ok() { one } else { other }) {
        return Err(bad(&why));
    }
    let mut size = entry.size;
    for part in images.iter().flat_map(gpuaas_oci::LaidImage::parts) {
        layout.place(part).map_err(|why| bad(&why))?;
        size += part.size;
    }
    Ok(size)
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
