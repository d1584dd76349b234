use std::os::unix::fs::PermissionsExt as _;

use super::tool::Said;
use super::*;

fn said(code: i32, stdout: &str) -> Said {
    Said { code: Some(code), stdout: stdout.to_owned(), stderr: String::new() }
}

/// What a device looks like, in one line.
fn shown(found: &Found) -> Vec<String> {
    let show = |gpu: &Gpu| {
        format!(
            "{} {} {} {} {} {}",
            gpu.index,
            gpu.uuid,
            gpu.model,
            gpu.memory_mib,
            gpu.bus_id.as_deref().unwrap_or("-"),
            gpu.driver_version.as_deref().unwrap_or("-")
        )
    };
    found.gpus.iter().map(show).collect()
}

#[test]
fn nvidia_lines_are_read_and_missing_values_are_missing() {
    let cases: &[(&str, &[&str], usize)] = &[
        (
            "0, GPU-aa-1, NVIDIA H100 80GB HBM3, 00000000:18:00.0, 81559, 550.54.15\n\
             1, GPU-aa-2, NVIDIA H100 80GB HBM3, 00000000:2A:00.0, 81559, 550.54.15\n",
            &[
                "0 GPU-aa-1 NVIDIA H100 80GB HBM3 81559 00000000:18:00.0 550.54.15",
                "1 GPU-aa-2 NVIDIA H100 80GB HBM3 81559 00000000:2A:00.0 550.54.15",
            ],
            0,
        ),
        ("0, GPU-b, Tesla K80, [N/A], 11441 MiB, N/A\n", &["0 GPU-b Tesla K80 11441 - -"], 0),
        ("0, GPU-c, NVIDIA GB10, 0:1:0.0, [N/A], 580.1\n", &["0 GPU-c NVIDIA GB10 0 0:1:0.0 580.1"], 1),
        ("0, GPU-d, A, with comma, 0:1:0.0, 5, 1\n", &["0 GPU-d A, with comma 5 0:1:0.0 1"], 0),
        ("0, [Not Supported], X, 0:1:0.0, 5, 1\n", &[], 1),
        ("0, GPU-$(x), X, 0:1:0.0, 5, 1\n", &[], 1),
        ("0, GPU-e, X, 0:1:0.0, 5, 1\n1, GPU-e, X, 0:2:0.0, 5, 1\n", &["0 GPU-e X 5 0:1:0.0 1"], 1),
        ("0, GPU-f, [Unknown Error], 0:1:0.0, 5, 1\n", &["0 GPU-f NVIDIA GPU 5 0:1:0.0 1"], 0),
        ("WARNING: infoROM is corrupted\n0, GPU-g, X, 0:1:0.0, 5, 1\n", &["0 GPU-g X 5 0:1:0.0 1"], 1),
        ("", &[], 0),
    ];
    for (text, gpus, warnings) in cases {
        let found = nvidia::parse(&said(0, text));
        assert_eq!(shown(&found), *gpus, "{text}");
        assert_eq!(found.warnings.len(), *warnings, "{text}: {:?}", found.warnings);
        assert!(found.gpus.iter().all(|gpu| gpu.vendor == Vendor::Nvidia && !gpu.simulated));
    }
}

#[test]
fn a_tool_that_fails_says_why_in_a_warning() {
    let cases = [
        (
            9,
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
            "nvidia-smi ended with code 9: NVIDIA-SMI has failed",
        ),
        (
            12,
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
            "nvidia-smi ended with code 12: NVIDIA-SMI couldn't find",
        ),
        (6, "No devices were found\n", "nvidia-smi: No devices were found."),
        (0, "No devices were found\n", "nvidia-smi: No devices were found."),
        (2, "Field \"uuid\" is not a valid field to query.\n", "nvidia-smi ended with code 2: Field"),
        (3, "", "nvidia-smi ended with code 3: no words"),
    ];
    for (code, stdout, warning) in cases {
        let found = nvidia::parse(&said(code, stdout));
        assert!(found.gpus.is_empty());
        assert!(found.warnings[0].starts_with(warning), "{:?}", found.warnings);
    }
    let killed = Said { code: None, stdout: String::new(), stderr: "Killed\n".to_owned() };
    assert_eq!(nvidia::parse(&killed).warnings, ["nvidia-smi was killed: Killed"]);
}

#[test]
fn rocm_smi_of_either_age_is_read() {
    let new = r#"{"card0": {"Card Series": "AMD Instinct MI300X", "Card Model": "0x74a1", "Card Vendor": "AMD",
        "Unique ID": "0x5cd3ae3f0f5a2f55", "VRAM Total Memory (B)": "206141652992", "PCI Bus": "0000:0C:00.0",
        "GFX Version": "gfx942", "GUID": "12345", "Node ID": "2"},
        "card10": {"Card Series": "N/A", "Card Model": "N/A", "Unique ID": "N/A", "PCI Bus": "0000:1C:00.0",
        "VRAM Total Memory (B)": "N/A"},
        "card2": {"Card Series": "X", "Unique ID": "0x2", "VRAM Total Memory (B)": "1073741824"},
        "system": {"Driver version": "6.7.0"}}"#;
    let found = amd::parse_rocm_smi(&said(0, new));
    assert_eq!(
        shown(&found),
        [
            "0 0x5cd3ae3f0f5a2f55 AMD Instinct MI300X 196592 0000:0C:00.0 6.7.0",
            "2 0x2 X 1024 - 6.7.0",
            "10 PCI-0000:1C:00.0 AMD GPU 0 0000:1C:00.0 6.7.0"
        ]
    );
    let old = "WARNING: something\n{\"card0\": {\"Card series\": \"Vega 20\", \"Card model\": \"0x66a0\", \
               \"Unique ID\": \"0x1\", \"VRAM Total Memory (B)\": \"17163091968\"}}";
    assert_eq!(shown(&amd::parse_rocm_smi(&said(0, old))), ["0 0x1 Vega 20 16368 - -"]);
    for (text, warning) in [
        (
            "ERROR:root:Driver not initialized (amdgpu not found in modules)",
            "rocm-smi ended with code 0: ERROR",
        ),
        ("", "rocm-smi ended with code 0: no words"),
        ("{}", "rocm-smi lists no card."),
        ("{\"system\": {}}", "rocm-smi lists no card."),
        ("{\"card0\": \"x\"}", "The amd GPU 0 has no usable id"),
    ] {
        let found = amd::parse_rocm_smi(&said(0, text));
        assert!(found.gpus.is_empty() && found.warnings[0].starts_with(warning), "{text}: {found:?}");
    }
}

#[test]
fn amd_smi_writes_memory_in_three_ways() {
    let list =
        said(0, r#"[{"gpu": 0, "bdf": "0000:0c:00.0", "uuid": "aaff74a1-0000-1000-8045-3aaee3f0f5a2"}]"#);
    for (size, mib) in [
        ("196592", 196_592),
        ("\"196592 MB\"", 196_592),
        ("{\"value\": 196592, \"unit\": \"MB\"}", 196_592),
        ("{\"value\": \"192\", \"unit\": \"GB\"}", 196_608),
        ("\"192 GB\"", 196_608),
        ("\"N/A\"", 0),
        ("null", 0),
        ("-5", 0),
        ("\"5 parsecs\"", 0),
    ] {
        let entry = format!(
            "{{\"gpu\": 0, \"asic\": {{\"market_name\": \"MI300X\"}}, \"driver\": {{\"version\": \"6.8\"}}, \
             \"vram\": {{\"size\": {size}}}}}"
        );
        for text in [format!("[{entry}]"), format!("{{\"gpu_data\": [{entry}]}}")] {
            let found = amd::parse_amd_smi(&list, &said(0, &text));
            assert_eq!(
                shown(&found),
                [format!("0 aaff74a1-0000-1000-8045-3aaee3f0f5a2 MI300X {mib} 0000:0c:00.0 6.8")]
            );
            assert_eq!(found.warnings.is_empty(), mib != 0);
        }
    }
    let bare = amd::parse_amd_smi(&list, &said(0, "[]"));
    assert_eq!(shown(&bare), ["0 aaff74a1-0000-1000-8045-3aaee3f0f5a2 AMD GPU 0 0000:0c:00.0 -"]);
    let broken = amd::parse_amd_smi(&said(255, "Unable to find any AMD GPU"), &said(255, ""));
    assert_eq!(broken.warnings, ["amd-smi ended with code 255: Unable to find any AMD GPU"]);
    assert_eq!(amd::parse_amd_smi(&said(0, "[]"), &said(0, "[]")).warnings, ["amd-smi lists no GPU."]);
}

#[test]
fn host_facts_are_read_from_their_files() {
    assert_eq!(host::memory_mib("MemTotal:       65842316 kB\nMemFree: 1 kB"), Some(64299));
    assert_eq!(host::memory_mib("nonsense"), None);
    assert_eq!(host::pretty_name("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"), "Debian GNU/Linux 12");
    assert_eq!(host::pretty_name("NAME='Void'"), "Void");
    assert_eq!(host::pretty_name(""), "Linux");
}

fn settings(search_path: &str) -> Look {
    Look {
        search_path: search_path.to_owned(),
        tool_timeout: Duration::from_secs(5),
        data_dir: PathBuf::from("/nowhere/at/all"),
        declared: Vec::new(),
        seed: vec![7; 32],
    }
}

fn put_tool(folder: &std::path::Path, name: &str, script: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn tools_on_the_path_are_asked_and_none_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path().to_str().unwrap());
    let bare = look(&settings, Runtime::Simulated).await;
    assert!(bare.gpus.is_empty() && bare.warnings.is_empty(), "{bare:?}");
    assert!(bare.cpus > 0 && bare.memory_mib > 0 && bare.disk_total_mib > 0 && !bare.hostname.is_empty());

    put_tool(folder.path(), "nvidia-smi", "echo '0, GPU-x, H100, 0:1:0.0, 81559, 550'");
    put_tool(
        folder.path(),
        "amd-smi",
        "case $1 in list) echo '[{\"gpu\":0,\"uuid\":\"u\",\"bdf\":\"b\"}]';; *) echo '[]';; esac",
    );
    let found = look(&settings, Runtime::Simulated).await;
    assert_eq!(found.gpus.iter().map(|gpu| gpu.uuid.as_str()).collect::<Vec<_>>(), ["GPU-x", "u"]);

    put_tool(folder.path(), "amd-smi", "exit 3");
    put_tool(folder.path(), "rocm-smi", "echo '{\"card0\": {\"Unique ID\": \"0x9\"}}'");
    let found = look(&settings, Runtime::Simulated).await;
    assert_eq!(found.gpus.last().unwrap().uuid, "0x9");

    put_tool(folder.path(), "nvidia-smi", "while :; do :; done");
    settings.tool_timeout = Duration::from_millis(200);
    let found = look(&settings, Runtime::Simulated).await;
    assert!(found.warnings[0].contains("nvidia-smi did not end"), "{:?}", found.warnings);

    put_tool(folder.path(), "nvidia-smi", "exec /usr/bin/yes");
    settings.tool_timeout = Duration::from_secs(20);
    let found = look(&settings, Runtime::Simulated).await;
    assert!(found.warnings[0].contains("said more than"), "{:?}", found.warnings);
}

#[tokio::test]
async fn declared_gpus_are_simulated_stable_and_never_mixed_with_real_ones() {
    let folder = tempfile::tempdir().unwrap();
    put_tool(folder.path(), "nvidia-smi", "echo '0, GPU-x, H100, 0:1:0.0, 81559, 550'");
    let mut settings = settings(folder.path().to_str().unwrap());
    let group =
        |vendor, model: &str, count| DeclaredGpus { vendor, model: model.into(), memory_mib: 1024, count };
    settings.declared = vec![group(Vendor::Nvidia, "H100", 2), group(Vendor::Amd, "MI300X", 1)];
    let first = look(&settings, Runtime::Simulated).await.gpus;
    assert_eq!(first.len(), 3);
    assert!(first.iter().all(|gpu| gpu.simulated && gpu.uuid.starts_with("SIM-") && gpu.uuid.len() == 40));
    settings.declared.reverse();
    let mut again: Vec<_> =
        look(&settings, Runtime::Simulated).await.gpus.into_iter().map(|g| g.uuid).collect();
    let mut before: Vec<_> = first.into_iter().map(|gpu| gpu.uuid).collect();
    again.sort();
    before.sort();
    assert_eq!(again, before);
    before.dedup();
    assert_eq!(before.len(), 3);
    settings.seed = vec![8; 32];
    assert!(look(&settings, Runtime::Simulated).await.gpus.iter().all(|gpu| !before.contains(&gpu.uuid)));
}
