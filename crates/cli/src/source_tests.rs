//! Source manifests: every kind of mapping, every fault with its place, and texts that stay as they were.

use std::path::Path;

use gpuaas_domain::manifest::Format;

use super::*;

const HELLO: &str = include_str!("../../../apps/hello-web/app.yaml");
const NAMED: &str = "{build: ../../images/hello-web}";

fn reference(digit: char) -> String {
    format!("registry.example.org:5000/gpuaas/apps/lab/hello@sha256:{}", digit.to_string().repeat(64))
}

fn read_yaml(text: &str) -> Source {
    read(text.as_bytes(), Format::Yaml, Path::new("")).unwrap()
}

/// The example with these in the places of `artifact_ref` and `runtime_profile.image_ref`.
fn hello(artifact: &str, runs: &str) -> String {
    HELLO.replacen(NAMED, artifact, 1).replacen(NAMED, runs, 1)
}

fn faults(text: &str) -> Vec<(String, &'static str)> {
    let faults = read_yaml(text).check().err().unwrap_or_default();
    faults.into_iter().map(|fault| (fault.path, fault.code)).collect()
}

#[test]
fn every_kind_of_mapping_is_understood() {
    for (mapping, from) in [
        ("{image: 'docker:hello:1'}", From::Docker("hello:1".into())),
        ("{image: layout:out}", From::Layout("out".into())),
        ("{image: archive:image.tar}", From::Archive("image.tar".into())),
        ("{build: image}", From::Build("image".into())),
    ] {
        let source = read_yaml(&hello(mapping, mapping));
        assert_eq!(source.images, [Origin { from, variant: None, tag: None }], "the same twice is one");
        assert_eq!(source.places.len(), 2);
    }
    let source = read_yaml(&hello("{build: image, variant: cpu, tag: x}", "{build: image, variant: cpu}"));
    assert_eq!(source.images.len(), 2, "with another tag it is another");
    assert_eq!(source.images[0].variant.as_deref(), Some("cpu"));
}

#[test]
fn all_places_that_name_images_are_looked_at() {
    let tree = serde_json::json!({"components": [{}, {}], "artifacts": [{"variants": [{}]}, {"variants": [{}, {}]}]});
    assert_eq!(
        pointers(&tree),
        [
            "/artifact_ref",
            "/runtime_profile/image_ref",
            "/components/0/image_ref",
            "/components/1/image_ref",
            "/artifacts/0/variants/0/image_ref",
            "/artifacts/1/variants/0/image_ref",
            "/artifacts/1/variants/1/image_ref",
        ]
    );
    let elsewhere =
        hello("{image: docker:a}", "{image: docker:a}").replace("path: /\n", "path: {image: docker:a}\n");
    assert!(!faults(&elsewhere).is_empty(), "an image is made where images are named, and nowhere else");
}

#[test]
fn a_sound_source_passes_with_made_up_digests() {
    let document = read_yaml(&hello("{image: docker:a}", "{image: docker:a}")).check().unwrap();
    assert!(document.manifest.artifact_ref.to_string().starts_with("source.invalid/image@sha256:"));
    // Two images that differ are two digests, so what would be refused later is refused now.
    let differ = faults(&hello("{image: docker:a}", "{image: docker:b}"));
    assert_eq!(differ, [("/artifact_ref".to_owned(), "artifact_ref_mismatch")]);
    let digest = format!("sha256:{}", "0".repeat(64));
    read_yaml(&HELLO.replace("@DIGEST@", &digest)).check().unwrap();
}

#[test]
fn every_fault_has_its_place() {
    let at = |mapping: &str| faults(&hello(mapping, mapping));
    let first = |mapping: &str| at(mapping).into_iter().next().unwrap();
    for (mapping, path, code) in [
        ("{}", "/artifact_ref", "required"),
        ("{build: a, image: docker:b}", "/artifact_ref", "invalid_value"),
        ("{build: 3}", "/artifact_ref/build", "wrong_type"),
        ("{build: ''}", "/artifact_ref/build", "invalid_value"),
        ("{image: hello}", "/artifact_ref/image", "invalid_value"),
        ("{image: 'docker:'}", "/artifact_ref/image", "invalid_value"),
        ("{image: 'docker:--help'}", "/artifact_ref/image", "invalid_value"),
        ("{image: 'http://x'}", "/artifact_ref/image", "invalid_value"),
        ("{image: docker:a, varient: b}", "/artifact_ref/varient", "unknown_field"),
        ("{image: docker:a, variant: 'A b'}", "/artifact_ref/variant", "invalid_value"),
        ("{image: docker:a, tag: 'a/b'}", "/artifact_ref/tag", "invalid_value"),
        ("{build: no-such-folder}", "/artifact_ref/build", "not_found"),
        ("{image: layout:no-such-folder}", "/artifact_ref/image", "not_found"),
        ("{image: archive:no-such-file}", "/artifact_ref/image", "not_found"),
    ] {
        assert_eq!(first(mapping), (path.to_owned(), code), "{mapping}");
    }
    // Faults of the mapping and of the rest come together.
    let both = faults(&hello("{build: 3}", "{image: docker:a}").replace("publisher:", "publishr:"));
    let paths: Vec<&str> = both.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/artifact_ref/build", "/publishr"]);
    assert!(read(b"a: [", Format::Yaml, Path::new("")).is_err());
}

#[test]
fn a_mistyped_folder_is_said_to_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["hello", "app.yaml", "hello/app.toml"] {
        let error = open(&folder.path().join(name)).unwrap_err().body().unwrap().error;
        assert!(error.message.starts_with("there is no folder or file "), "{}", error.message);
    }
    let error = open(folder.path()).unwrap_err().body().unwrap().error;
    assert!(error.message.ends_with("holds no app.yaml or app.json"), "{}", error.message);
}

#[test]
fn a_folder_to_build_has_a_program_or_a_dockerfile() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::create_dir(&image).unwrap();
    let text = hello("{build: image}", "{build: image}");
    let check = || read(text.as_bytes(), Format::Yaml, folder.path()).unwrap().check();
    assert!(check().unwrap_err()[0].message.contains("neither a program"));
    std::fs::write(image.join("build"), "#!/bin/sh\n").unwrap();
    let told = check().unwrap_err()[0].message.clone();
    assert!(told.contains("chmod +x image/build"), "a file that cannot be run is no program: {told}");
    std::fs::write(image.join("Dockerfile"), "FROM scratch\n").unwrap();
    check().unwrap();
    assert_eq!(recipe(&image), Some(Recipe::Dockerfile));
    std::fs::set_permissions(image.join("build"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(recipe(&image), Some(Recipe::Program(image.join("build"))));
}

#[test]
fn locking_changes_the_mappings_and_nothing_else() {
    let flow = hello("{image: docker:a}   # ours", "{image: docker:a, variant: cpu}");
    let locked = read_yaml(&flow).lock(&[reference('1'), reference('2')]).unwrap();
    let expected = hello(&format!("{}   # ours", reference('1')), &reference('2'));
    assert_eq!(locked.text, expected);
    assert_eq!(locked.document.manifest.artifact_ref.to_string(), reference('1'));

    let block =
        hello("\n  image: docker:a\n  variant: cpu  # for machines without GPUs", "\n    image: docker:b\n");
    let locked = read_yaml(&block).lock(&[reference('1'), reference('2')]).unwrap();
    assert!(
        locked.text.contains(&format!("artifact_ref: \n  {}  # for machines", reference('1'))),
        "{}",
        locked.text
    );
    assert!(locked.text.starts_with("# The smallest app there is") && !locked.json);
    let again = manifest::parse(locked.text.as_bytes(), Format::Yaml).unwrap();
    assert_eq!(again.digest(), locked.document.digest());

    let wide = hello("{image: docker:ä}", "{image: docker:ä}").replace("Hello web", "Größe – 你好");
    let locked = read_yaml(&wide).lock(&[reference('3')]).unwrap();
    assert!(
        locked.text.contains("display_name: Größe – 你好\n") && locked.text.contains("# The smallest app")
    );
    assert!(read_yaml(&wide).lock(&[]).is_err());
}

#[test]
fn json_keeps_its_order_too() {
    let tree = manifest::tree(HELLO.replace(NAMED, &reference('0')).as_bytes(), Format::Yaml).unwrap();
    let named = tree["artifact_ref"].as_str().unwrap().to_owned();
    let json = format!("{{\n  \"version\": \"1.0.0\", {}", &tree.to_string()[1..])
        .replace("\"version\":\"1.0.0\"", "\"name\":\"x\"");
    let json = json.replace(&format!("\"{named}\""), "{\"image\": \"docker:a\"}");
    let source = read(json.as_bytes(), Format::Json, Path::new("")).unwrap();
    source.check().unwrap();
    let locked = source.lock(&[reference('4')]).unwrap();
    assert!(
        locked.json && locked.text.starts_with("{\n  \"version\": \"1.0.0\", \"artifact_kind\""),
        "{}",
        locked.text
    );
    assert_eq!(locked.text, json.replace("{\"image\": \"docker:a\"}", &format!("\"{}\"", reference('4'))));
}

#[test]
fn a_folder_holds_one_manifest() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(open(folder.path()).unwrap_err().exit_code(), 2);
    std::fs::write(folder.path().join("app.yaml"), "x").unwrap();
    let text = open(folder.path()).unwrap();
    assert_eq!((text.bytes.as_slice(), text.format), (&b"x"[..], Format::Yaml));
    assert_eq!(
        (text.base.as_path(), text.name),
        (folder.path(), folder.path().join("app.yaml").display().to_string())
    );
    std::fs::write(folder.path().join("app.json"), "x").unwrap();
    assert_eq!(open(folder.path()).unwrap_err().exit_code(), 2, "two could differ");
    for (name, format) in [("a.json", Format::Json), ("a.yaml", Format::Yaml), ("a.yml", Format::Yaml)] {
        let path = folder.path().join(name);
        std::fs::write(&path, "x").unwrap();
        assert_eq!(open(&path).unwrap().format, format);
    }
    std::fs::write(folder.path().join("a.txt"), "x").unwrap();
    assert_eq!(open(&folder.path().join("a.txt")).unwrap_err().exit_code(), 2);
    assert_eq!(open(&folder.path().join("missing.yaml")).unwrap_err().exit_code(), 2);
}
