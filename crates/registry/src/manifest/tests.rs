use serde_json::{Value, json};

use super::*;
use crate::digest::Algorithm;

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

fn digest(of: &str) -> String {
    Digest::of(Algorithm::Sha256, of.as_bytes()).to_string()
}

fn config() -> Value {
    json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest("c"), "size": 1})
}

fn layer() -> Value {
    json!({"mediaType": LAYER, "digest": digest("l"), "size": 1})
}

fn image() -> Value {
    json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config(), "layers": [layer()]})
}

fn index() -> Value {
    json!({"schemaVersion": 2, "mediaType": OCI_INDEX,
        "manifests": [{"mediaType": OCI_MANIFEST, "digest": digest("m"), "size": 1}]})
}

/// `document` with some members set; `Null` takes one away.
fn with(mut document: Value, changes: Value) -> String {
    let (Some(members), Value::Object(changes)) = (document.as_object_mut(), changes) else {
        panic!("objects")
    };
    for (name, value) in changes {
        if value.is_null() {
            members.remove(&name);
        } else {
            members.insert(name, value);
        }
    }
    document.to_string()
}

fn read_strictly(text: &str, kind: MediaType) -> Result<Manifest, Ambiguous> {
    read(text.as_bytes(), kind, Policy::default())
}

/// F-12.
#[test]
fn images_indexes_and_artifacts_of_both_families_are_read() {
    let image = read_strictly(&image().to_string(), MediaType::OciManifest).unwrap();
    assert_eq!(image.blobs.len(), 2);
    assert_eq!(image.artifact_type.as_deref(), Some("application/vnd.oci.image.config.v1+json"));
    let index = read_strictly(&index().to_string(), MediaType::OciIndex).unwrap();
    assert_eq!((index.blobs.len(), index.children.len()), (0, 1));
    let docker = with(self::image(), json!({"mediaType": DOCKER_MANIFEST}));
    assert!(read_strictly(&docker, MediaType::DockerManifest).is_ok());
    let list = with(self::index(), json!({"mediaType": DOCKER_LIST}));
    assert!(read_strictly(&list, MediaType::DockerList).is_ok());
    let unnamed = with(self::image(), json!({"mediaType": null}));
    assert!(read_strictly(&unnamed, MediaType::OciManifest).is_ok(), "OCI leaves the media type out");
    let artifact = with(
        self::image(),
        json!({"artifactType": "application/x-sbom", "subject": layer(), "layers": [], "custom": {"Size": [1]},
            "annotations": {"A": "1", "a": "2", "Digest": "mine"}}),
    );
    let artifact = read_strictly(&artifact, MediaType::OciManifest).unwrap();
    assert_eq!(artifact.artifact_type.as_deref(), Some("application/x-sbom"));
    assert_eq!(artifact.subject.unwrap().as_str(), digest("l"));
    assert_eq!(artifact.annotations.len(), 3, "annotations are their author's own");
}

/// What stands in the text, once more with another value.
fn twice(text: &str, member: &str) -> String {
    let at = text.find(member).unwrap_or_else(|| panic!("{member} is not there"));
    format!("{}{member}null,{}", &text[..at], &text[at..])
}

/// R02.
#[test]
fn an_ambiguous_manifest_is_refused() {
    let image_text = image().to_string();
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(40), "]".repeat(40));
    let huge = "9".repeat(30);
    let layers = |value: Value| with(image(), json!({"layers": [value]}));
    let corpus: Vec<(&str, MediaType, String)> = vec![
        ("no JSON", MediaType::OciManifest, "schemaVersion: 2".into()),
        ("nothing", MediaType::OciManifest, String::new()),
        ("two documents", MediaType::OciManifest, format!("{image_text}{image_text}")),
        ("a list", MediaType::OciManifest, format!("[{image_text}]")),
        (
            "too deep",
            MediaType::OciManifest,
            with(image(), json!({"x": serde_json::from_str::<Value>(&deep).unwrap()})),
        ),
        ("two layers members", MediaType::OciManifest, twice(&image_text, "\"layers\":")),
        ("two config members", MediaType::OciManifest, twice(&image_text, "\"config\":")),
        ("two media types", MediaType::OciManifest, twice(&image_text, "\"mediaType\":")),
        ("two digests", MediaType::OciManifest, twice(&image_text, "\"digest\":")),
        ("two unknown members", MediaType::OciManifest, image_text.replacen('{', "{\"x\":1,\"x\":2,", 1)),
        ("escaped twin", MediaType::OciManifest, image_text.replacen('{', "{\"l\\u0061yers\":[],", 1)),
        ("Layers", MediaType::OciManifest, image_text.replacen('{', "{\"Layers\":[],", 1)),
        ("layerſ", MediaType::OciManifest, image_text.replacen('{', "{\"layerſ\":[],", 1)),
        ("MANIFESTS", MediaType::OciManifest, image_text.replacen('{', "{\"MANIFESTS\":[],", 1)),
        ("Digest in a descriptor", MediaType::OciManifest, image_text.replace("\"digest\"", "\"Digest\"")),
        ("both kinds", MediaType::OciManifest, with(image(), json!({"manifests": []}))),
        ("both kinds, as index", MediaType::OciIndex, with(index(), json!({"layers": []}))),
        ("an index with a config", MediaType::OciIndex, with(index(), json!({"config": config()}))),
        ("an image as index", MediaType::OciIndex, with(image(), json!({"mediaType": OCI_INDEX}))),
        ("an index as image", MediaType::OciManifest, with(index(), json!({"mediaType": OCI_MANIFEST}))),
        ("no config", MediaType::OciManifest, with(image(), json!({"config": null}))),
        ("sent as another type", MediaType::DockerManifest, image_text.clone()),
        ("Docker without a type", MediaType::DockerManifest, with(image(), json!({"mediaType": null}))),
        ("a list without a type", MediaType::DockerList, with(index(), json!({"mediaType": null}))),
        ("schema version 1", MediaType::OciManifest, with(image(), json!({"schemaVersion": 1}))),
        ("schema version as text", MediaType::OciManifest, with(image(), json!({"schemaVersion": "2"}))),
        ("no schema version", MediaType::OciManifest, with(image(), json!({"schemaVersion": null}))),
        ("fsLayers", MediaType::OciManifest, with(image(), json!({"fsLayers": []}))),
        (
            "negative size",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": digest("l"), "size": -1})),
        ),
        (
            "size as text",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": digest("l"), "size": "1"})),
        ),
        (
            "size with a fraction",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": digest("l"), "size": 1.5})),
        ),
        (
            "size above 63 bits",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": digest("l"), "size": u64::MAX})),
        ),
        (
            "size of 30 digits",
            MediaType::OciManifest,
            image_text.replace("\"size\":1", &format!("\"size\":{huge}")),
        ),
        ("no size", MediaType::OciManifest, layers(json!({"mediaType": LAYER, "digest": digest("l")}))),
        (
            "sizes that overflow",
            MediaType::OciManifest,
            with(
                image(),
                json!({"layers": [
            {"mediaType": LAYER, "digest": digest("1"), "size": i64::MAX}, {"mediaType": LAYER, "digest": digest("2"), "size": i64::MAX}]}),
            ),
        ),
        (
            "one digest, two sizes",
            MediaType::OciManifest,
            with(
                image(),
                json!({"layers": [
            {"mediaType": LAYER, "digest": digest("1"), "size": 1}, {"mediaType": LAYER, "digest": digest("1"), "size": 2}]}),
            ),
        ),
        ("no digest", MediaType::OciManifest, layers(json!({"mediaType": LAYER, "size": 1}))),
        (
            "a short digest",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": "sha256:ab", "size": 1})),
        ),
        (
            "another algorithm",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": "md5:d41d8cd98f00b204e9800998ecf8427e", "size": 1})),
        ),
        ("a layer without a type", MediaType::OciManifest, layers(json!({"digest": digest("l"), "size": 1}))),
        (
            "data that are other bytes",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": digest("l"), "size": 1, "data": "eA=="})),
        ),
        (
            "data that are no base64",
            MediaType::OciManifest,
            layers(json!({"mediaType": LAYER, "digest": digest("l"), "size": 1, "data": "?"})),
        ),
        (
            "a layer on another host",
            MediaType::OciManifest,
            layers(
                json!({"mediaType": LAYER, "digest": digest("l"), "size": 1, "urls": ["http://evil.example"]}),
            ),
        ),
        (
            "a foreign layer",
            MediaType::OciManifest,
            layers(
                json!({"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "digest": digest("l"), "size": 1}),
            ),
        ),
        (
            "a child too large",
            MediaType::OciIndex,
            with(
                index(),
                json!({"manifests": [{"mediaType": OCI_MANIFEST, "digest": digest("m"), "size": 5 << 20}]}),
            ),
        ),
        (
            "a child on another host",
            MediaType::OciIndex,
            with(
                index(),
                json!({"manifests": [{"mediaType": OCI_MANIFEST, "digest": digest("m"), "size": 1, "urls": ["http://evil.example"]}]}),
            ),
        ),
        (
            "annotations of other kinds",
            MediaType::OciManifest,
            with(image(), json!({"annotations": {"a": 1}})),
        ),
        (
            "an annotation twice",
            MediaType::OciManifest,
            image_text.replacen('{', "{\"annotations\":{\"a\":\"1\",\"a\":\"2\"},", 1),
        ),
    ];
    assert!(corpus.len() >= 30);
    for (what, kind, text) in &corpus {
        assert!(read_strictly(text, *kind).is_err(), "{what} was taken: {text}");
    }
    let mut bytes = image_text.into_bytes();
    bytes.extend(b" \xff");
    assert!(read(&bytes, MediaType::OciManifest, Policy::default()).is_err(), "it is not UTF-8");
    assert!(read(&vec![b' '; MAX_MANIFEST_BYTES + 1], MediaType::OciManifest, Policy::default()).is_err());
}

/// R06.
#[test]
fn foreign_layers_pass_only_where_the_operator_says_so_and_are_not_looked_for() {
    let foreign = json!({"mediaType": "application/vnd.oci.image.layer.nondistributable.v1.tar", "digest": digest("f"),
        "size": 7, "urls": ["https://store.example.com/f"]});
    let text = with(image(), json!({"layers": [foreign, layer()]}));
    assert!(read_strictly(&text, MediaType::OciManifest).is_err());
    let policy = Policy { foreign_layers: true, ..Policy::default() };
    let manifest = read(text.as_bytes(), MediaType::OciManifest, policy).unwrap();
    assert!(manifest.blobs.iter().all(|part| part.digest.as_str() != digest("f")));
    let foreign_config = with(
        image(),
        json!({"config": {"mediaType": "a/b", "digest": digest("c"), "size": 1, "urls": ["http://x"]}}),
    );
    assert!(read(foreign_config.as_bytes(), MediaType::OciManifest, policy).is_err());
}
