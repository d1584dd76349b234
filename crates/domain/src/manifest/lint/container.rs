//! One container: variables, ports, probes, folders.

use std::collections::BTreeSet;

use gpuaas_agent_protocol::spec::{Check, RunAs, is_denied_env, is_mount_path};

use super::Faults;
use crate::manifest::Probe;
use crate::manifest::runtime::Container;

pub(super) fn check(at: &str, container: Container<'_>, faults: &mut Faults) {
    environment(at, container, faults);
    ports(at, container, faults);
    folders(at, container, faults);
    for (which, probe) in [("readiness", container.readiness), ("liveness", container.liveness)] {
        if let Some(Probe { check, .. }) = probe {
            self::probe(&format!("{at}/{which}/check"), check, container, faults);
        }
    }
    if let RunAs::User { uid, gid } = container.user
        && (uid == 0 || gid == 0)
    {
        faults.add(format!("{at}/user"), "invalid_value", "Root is declared as root, not as uid or gid 0.");
    }
    if let Some(restart) = container.restart {
        if restart.max_restarts > 100 {
            faults.add(format!("{at}/restart/max_restarts"), "out_of_range", "This must be 0 to 100.");
        }
        if !(1..=86400).contains(&restart.window_seconds) {
            faults.add(format!("{at}/restart/window_seconds"), "out_of_range", "This must be 1 to 86400.");
        }
    }
    if container.resources.min_memory_mib.is_some_and(|mib| mib.0 < 6) {
        faults.add(
            format!("{at}/resources/min_memory_mib"),
            "out_of_range",
            "A container needs 6 MiB at least.",
        );
    }
}

fn environment(at: &str, container: Container<'_>, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for (index, variable) in container.env.iter().enumerate() {
        let at = format!("{at}/env/{index}/name");
        if is_denied_env(&variable.name) {
            faults.add(
                &at,
                "reserved_env_name",
                "This variable steers the loader, the GPU runtime or the platform; it is not an app's to set.",
            );
        }
        // Two values under conditions that exclude each other are fine; which they are is not known here.
        if variable.when.is_none() && !seen.insert(&variable.name) {
            faults.add(&at, "duplicate_name", "A variable is set once.");
        }
    }
}

fn ports(at: &str, container: Container<'_>, faults: &mut Faults) {
    let mut numbers = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (index, port) in container.ports.iter().enumerate() {
        if !numbers.insert(port.container) {
            faults.add(
                format!("{at}/ports/{index}/container"),
                "port_clash",
                "The port stands in the list twice.",
            );
        } else if !names.insert(port.name()) {
            faults.add(format!("{at}/ports/{index}/name"), "port_clash", "Another port has this name.");
        }
    }
}

fn probe(at: &str, check: &Check, container: Container<'_>, faults: &mut Faults) {
    let port = match check {
        Check::Http { port, path } => {
            if !path.starts_with('/') || path.len() > 1024 || !path.bytes().all(|b| b.is_ascii_graphic()) {
                faults.add(
                    format!("{at}/path"),
                    "invalid_value",
                    "A path starts with / and is visible ASCII.",
                );
            }
            port
        }
        Check::Tcp { port } => port,
        Check::Exec { command } => {
            if command.is_empty() || command.len() > 256 {
                faults.add(format!("{at}/command"), "out_of_range", "A command has 1 to 256 parts.");
            }
            for (index, _) in command.iter().enumerate().filter(|(_, part)| part.contains("${")) {
                let sentence = "Nothing is filled in here; let a variable of the container hold the value.";
                faults.add(format!("{at}/command/{index}"), "expression_not_allowed", sentence);
            }
            return;
        }
        Check::Heartbeat => return,
    };
    if container.ports.iter().all(|declared| declared.container != *port) {
        faults.add(format!("{at}/port"), "probe_port_not_declared", "Declare this port in ports first.");
    }
}

fn folders(at: &str, container: Container<'_>, faults: &mut Faults) {
    let tmpfs =
        container.tmpfs.iter().enumerate().map(|(index, one)| (format!("{at}/tmpfs/{index}"), &one.path));
    let scratch =
        container.scratch.iter().enumerate().map(|(index, one)| (format!("{at}/scratch/{index}"), &one.path));
    let mut seen = BTreeSet::new();
    for (at, path) in tmpfs.chain(scratch) {
        if !is_mount_path(path) {
            faults.add(
                format!("{at}/path"),
                "workspace_path_not_allowed",
                "Name an absolute path in the container that is no system folder.",
            );
        } else if !seen.insert(path) {
            faults.add(
                format!("{at}/path"),
                "duplicate_name",
                "Another folder of the container has this path.",
            );
        }
    }
    for (index, one) in container.tmpfs.iter().enumerate() {
        if !(1..=1024 * 1024).contains(&one.size_mib) {
            faults.add(format!("{at}/tmpfs/{index}/size_mib"), "out_of_range", "This must be 1 to 1048576.");
        }
    }
    let mut names = BTreeSet::new();
    for (index, one) in container.scratch.iter().enumerate() {
        let at = format!("{at}/scratch/{index}/name");
        let clean = (1..=40).contains(&one.name.len())
            && !one.name.starts_with('-')
            && !one.name.ends_with('-')
            && one.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !clean {
            faults.add(at, "invalid_value", "A name is 1 to 40 of a-z, 0-9 and inner hyphens.");
        } else if !names.insert(&one.name) {
            faults.add(at, "duplicate_name", "Another scratch folder has this name.");
        }
    }
}
