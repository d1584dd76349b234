//! Facts of the host, from `/proc`, `/etc/os-release` and the file system.

use std::path::Path;

pub(super) struct Host {
    pub(super) hostname: String,
    pub(super) os: String,
    pub(super) kernel: String,
    pub(super) cpus: u32,
    pub(super) memory_mib: u32,
    pub(super) disk_total_mib: u64,
    pub(super) disk_free_mib: u64,
    pub(super) warnings: Vec<String>,
}

pub(super) fn read(data_dir: &Path) -> Host {
    let mut warnings = Vec::new();
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let line = |path: &str| text(path).trim().chars().take(200).collect::<String>();
    let memory_mib = memory_mib(&text("/proc/meminfo"));
    if memory_mib.is_none() {
        warnings.push("The memory of the host cannot be read from /proc/meminfo.".to_owned());
    }
    let (disk_total_mib, disk_free_mib) = disk(data_dir).unwrap_or_else(|error| {
        warnings.push(format!("The disk space at {} cannot be read: {error}.", data_dir.display()));
        (0, 0)
    });
    Host {
        hostname: line("/proc/sys/kernel/hostname"),
        os: pretty_name(&text("/etc/os-release")),
        kernel: line("/proc/sys/kernel/osrelease"),
        cpus: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        memory_mib: memory_mib.unwrap_or(0),
        disk_total_mib,
        disk_free_mib,
        warnings,
    }
}

/// As images name it.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

pub(super) fn memory_mib(meminfo: &str) -> Option<u32> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    u32::try_from(kib / 1024).ok()
}

pub(super) fn pretty_name(os_release: &str) -> String {
    let value = |name: &str| {
        let value = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim().trim_matches(['"', '\'']).chars().take(200).collect())
    };
    value("PRETTY_NAME").or_else(|| value("NAME")).unwrap_or_else(|| "Linux".to_owned())
}

/// Whole and free (for somebody who is not root), of the file system that holds this folder or will hold it.
fn disk(folder: &Path) -> std::io::Result<(u64, u64)> {
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let about = rustix::fs::statvfs(there)?;
    let mib = |blocks: u64| blocks.saturating_mul(about.f_frsize) / (1024 * 1024);
    Ok((mib(about.f_blocks), mib(about.f_bavail)))
}
