use std::sync::LazyLock;

use gpuaas_domain::launch::Needs;
use gpuaas_domain::launch_form::resolution::{Around, Prepared};
use gpuaas_domain::manifest::{Format, Manifest, lint, parse};
use serde_json::{Map, Value};

/// The first byte chooses; a new one goes to the end, so that seeds keep their meaning.
static MANIFESTS: LazyLock<Vec<(Manifest, Prepared)>> = LazyLock::new(|| {
    let texts = [
        include_str!("../manifests/every-parameter.yaml"),
        include_str!("../manifests/vllm-openai.yaml"),
        include_str!("../../../apps/jupyterlab/app.yaml"),
        include_str!("../../../apps/hello-web/app.yaml"),
    ];
    texts.map(read).map(|manifest| (manifest.clone(), Prepared::of(&manifest))).into()
});

/// With an image where the source has one to be built.
fn read(text: &str) -> Manifest {
    let image = format!("registry.gpuaas.example.com/apps/x@sha256:{}", "0123456789abcdef".repeat(4));
    let text: String = text
        .split_inclusive('\n')
        .map(|line| match line.find("{build:") {
            Some(at) => {
                let end = at + line[at..].find('}').expect("it is closed on its line") + 1;
                format!("{}{image}{}", &line[..at], &line[end..])
            }
            None => line.to_owned(),
        })
        .collect();
    let manifest = parse(text.as_bytes(), Format::Yaml).unwrap_or_else(|why| panic!("{why:?}")).manifest;
    assert_eq!(lint(&manifest, None), [], "{}", manifest.slug);
    manifest
}

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, text)) = bytes.split_first() else { return };
    let Ok(given) = serde_json::from_slice::<Map<String, Value>>(text) else { return };
    let (manifest, prepared) = &MANIFESTS[usize::from(*which) % MANIFESTS.len()];
    let needs = Needs { gpu_count: u32::from(*which) % 9, cpu_millis: 4000, memory_mib: 8192 };
    let around = Around { needs, addons: &[] };
    let resolved = prepared.resolve(&given, around);
    let accepted =
        std::str::from_utf8(text).map(|text| prepared.accept(text, around)).expect("JSON is UTF-8");
    match &accepted {
        Ok(accepted) => assert_eq!(accepted.to_map(), resolved.values, "both ways keep the same"),
        Err(faults) => assert_eq!(*faults, resolved.faults, "both ways refuse the same"),
    }
    if !resolved.faults.is_empty() {
        super::check_faults(&resolved.faults, 100);
        assert!(resolved.faults.iter().all(|fault| fault.path.starts_with("/values")));
        return;
    }
    assert!(given.keys().all(|name| manifest.parameters.contains_key(name)), "an unknown value was accepted");
    let again = prepared.resolve(&resolved.values, around);
    assert_eq!(again, resolved, "what is accepted is accepted again, unchanged");
}
