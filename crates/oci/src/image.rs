//! Makes an image of one layer from files in memory.
//!
//! The law: what comes out depends on what goes in and on nothing else. Entries are sorted, every time is the epoch,
//! every owner is root, gzip carries neither name nor time, JSON keys have a fixed order. The road not taken is
//! `docker build`: it needs an engine, a base image and a network, and gives another digest every time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use serde::{Serialize, Serializer};

use crate::Digest;

pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const FOLDER_MODE: u32 = 0o755;

/// Bytes with their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub media_type: &'static str,
    pub digest: Digest,
    pub bytes: Vec<u8>,
}

/// A finished image. Its name is the digest of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub manifest: Blob,
    pub config: Blob,
    pub layers: Vec<Blob>,
}

/// Why no image can be made of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// Empty, the root itself, or with `.`, `..`, an empty part or a NUL.
    BadPath { path: String },
    /// The same path twice, or a file where another entry needs a folder.
    PathTaken { path: String },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPath { path } => write!(f, "{path:?} is no path inside an image"),
            Self::PathTaken { path } => write!(f, "{path:?} stands in the image twice"),
        }
    }
}

impl std::error::Error for BuildError {}

enum Entry {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
}

/// Collects what the image holds and how it starts. `build` checks everything at once.
pub struct ImageBuilder {
    architecture: String,
    entries: Vec<(String, Entry)>,
    settings: Settings,
}

/// The part of the configuration that a runtime reads; names and order as in the specification.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Settings {
    #[serde(skip_serializing_if = "String::is_empty")]
    user: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty", serialize_with = "as_empty_objects")]
    exposed_ports: BTreeSet<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entrypoint: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cmd: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
}

/// The specification has a set as an object with empty values.
fn as_empty_objects<S: Serializer>(set: &BTreeSet<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(set.iter().map(|name| (name, serde_json::Map::new())))
}

#[derive(Serialize)]
struct Config<'a> {
    architecture: &'a str,
    os: &'static str,
    #[serde(rename = "config")]
    settings: &'a Settings,
    rootfs: RootFs<'a>,
}

#[derive(Serialize)]
struct RootFs<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    diff_ids: [&'a str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u32,
    media_type: &'static str,
    config: Descriptor<'a>,
    layers: [Descriptor<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    media_type: &'static str,
    digest: &'a str,
    size: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, &'a str>,
}

impl ImageBuilder {
    /// `architecture` as Go spells it: `amd64`, `arm64`.
    pub fn new(architecture: impl Into<String>) -> Self {
        Self { architecture: architecture.into(), entries: Vec::new(), settings: Settings::default() }
    }

    /// A file owned by root. Folders above it are made, readable by all.
    #[must_use]
    pub fn file(mut self, path: &str, mode: u32, bytes: impl Into<Vec<u8>>) -> Self {
        self.entries.push((path.to_owned(), Entry::File { mode, bytes: bytes.into() }));
        self
    }

    /// A folder owned by root, for one that is empty or needs a mode of its own.
    #[must_use]
    pub fn dir(mut self, path: &str, mode: u32) -> Self {
        self.entries.push((path.to_owned(), Entry::Folder { mode }));
        self
    }

    /// Who the program runs as: `uid:gid`. Numbers, because an image from files has no list of names.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.settings.user = user.into();
        self
    }

    #[must_use]
    pub fn entrypoint<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.settings.entrypoint = words.into_iter().map(Into::into).collect();
        self
    }

    #[must_use]
    pub fn cmd<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.settings.cmd = words.into_iter().map(Into::into).collect();
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.settings.env.push(format!("{name}={value}"));
        self
    }

    /// A TCP port the program listens on.
    #[must_use]
    pub fn exposed_port(mut self, port: u16) -> Self {
        self.settings.exposed_ports.insert(format!("{port}/tcp"));
        self
    }

    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.settings.labels.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn build(mut self) -> Result<Image, BuildError> {
        self.settings.env.sort();
        let tar = tar_of(&arrange(self.entries)?);
        let diff_id = Digest::of(&tar);
        let layer = blob(LAYER_TYPE, gzip(&tar));
        let config = json(
            CONFIG_TYPE,
            &Config {
                architecture: &self.architecture,
                os: "linux",
                settings: &self.settings,
                rootfs: RootFs { kind: "layers", diff_ids: [diff_id.as_str()] },
            },
        );
        let manifest = json(
            MANIFEST_TYPE,
            &Manifest {
                schema_version: 2,
                media_type: MANIFEST_TYPE,
                config: config.descriptor(),
                layers: [layer.descriptor()],
            },
        );
        Ok(Image { manifest, config, layers: vec![layer] })
    }
}

impl Blob {
    fn descriptor(&self) -> Descriptor<'_> {
        Descriptor {
            media_type: self.media_type,
            digest: self.digest.as_str(),
            size: self.bytes.len(),
            annotations: BTreeMap::new(),
        }
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest.hex())
    }
}

impl Image {
    pub fn digest(&self) -> &Digest {
        &self.manifest.digest
    }

    /// What a registry must hold before the manifest.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config])
    }

    /// The image as one tar file: an OCI layout that is also what `docker load` reads. `name` is the `repository:tag`
    /// it gets when loaded.
    pub fn to_archive(&self, name: Option<&str>) -> Vec<u8> {
        let mut reference = self.manifest.descriptor();
        if let Some(tag) = name.and_then(|name| name.rsplit_once(':')).map(|(_, tag)| tag) {
            reference.annotations.insert("org.opencontainers.image.ref.name", tag);
        }
        let index =
            serde_json::json!({ "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [reference] });
        let docker = serde_json::json!([{
            "Config": self.config.path(),
            "RepoTags": name.into_iter().collect::<Vec<_>>(),
            "Layers": self.layers.iter().map(Blob::path).collect::<Vec<_>>(),
        }]);
        let file = |bytes: Vec<u8>| Entry::File { mode: 0o644, bytes };
        let folder = || Entry::Folder { mode: FOLDER_MODE };
        let mut entries = BTreeMap::from([
            ("blobs".to_owned(), folder()),
            ("blobs/sha256".to_owned(), folder()),
            ("index.json".to_owned(), file(index.to_string().into_bytes())),
            ("manifest.json".to_owned(), file(docker.to_string().into_bytes())),
            ("oci-layout".to_owned(), file(br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec())),
        ]);
        for blob in self.blobs().chain([&self.manifest]) {
            entries.insert(blob.path(), file(blob.bytes.clone()));
        }
        tar_of(&entries)
    }
}

/// Sorted by path, with the folders above each entry.
fn arrange(given: Vec<(String, Entry)>) -> Result<BTreeMap<String, Entry>, BuildError> {
    let mut entries = BTreeMap::new();
    for (path, entry) in given {
        let inside = path.strip_prefix('/').unwrap_or(&path);
        let good = inside.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !good || inside.contains('\0') {
            return Err(BuildError::BadPath { path });
        }
        if entries.insert(inside.to_owned(), entry).is_some() {
            return Err(BuildError::PathTaken { path });
        }
    }
    let above: BTreeSet<String> = entries
        .keys()
        .flat_map(|path| path.match_indices('/').map(|(end, _)| path[..end].to_owned()))
        .collect();
    for path in above {
        if let Some(Entry::File { .. }) = entries.get(&path) {
            return Err(BuildError::PathTaken { path });
        }
        entries.entry(path).or_insert(Entry::Folder { mode: FOLDER_MODE });
    }
    Ok(entries)
}

fn tar_of(entries: &BTreeMap<String, Entry>) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, entry) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        let (kind, mode, bytes) = match entry {
            Entry::Folder { mode } => (tar::EntryType::Directory, *mode, &[][..]),
            Entry::File { mode, bytes } => (tar::EntryType::Regular, *mode, bytes.as_slice()),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, path, bytes).expect("a checked path, written to memory");
    }
    tar.into_inner().expect("written to memory")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // The default header of the builder: no name, time zero.
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    gzip.write_all(bytes).expect("written to memory");
    gzip.finish().expect("written to memory")
}

fn json(media_type: &'static str, value: &impl Serialize) -> Blob {
    blob(media_type, serde_json::to_vec(value).expect("text and numbers only"))
}

fn blob(media_type: &'static str, bytes: Vec<u8>) -> Blob {
    Blob { media_type, digest: Digest::of(&bytes), bytes }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use serde_json::{Value, json};

    use super::*;

    fn sample() -> ImageBuilder {
        ImageBuilder::new("amd64")
            .file("/app/hello", 0o755, b"program".to_vec())
            .file("etc/passwd", 0o644, b"nonroot:x:65532:65532::/:\n".to_vec())
            .dir("/tmp", 0o1777)
            .user("65532:65532")
            .entrypoint(["/app/hello"])
            .cmd(["--port", "8080"])
            .env("B", "2")
            .env("A", "1")
            .exposed_port(8080)
            .label("org.opencontainers.image.title", "hello")
    }

    #[test]
    fn the_same_input_gives_the_same_digest_whatever_the_order() {
        let turned = ImageBuilder::new("amd64")
            .label("org.opencontainers.image.title", "hello")
            .exposed_port(8080)
            .env("A", "1")
            .env("B", "2")
            .cmd(["--port", "8080"])
            .entrypoint(["/app/hello"])
            .user("65532:65532")
            .dir("tmp", 0o1777)
            .file("/etc/passwd", 0o644, b"nonroot:x:65532:65532::/:\n".to_vec())
            .file("app/hello", 0o755, b"program".to_vec());
        let image = sample().build().unwrap();
        assert_eq!(image, turned.build().unwrap());
        // Held fast, so that a new version of a library that writes other bytes is noticed.
        assert_eq!(
            image.digest().as_str(),
            "sha256:e45f4caf9051ff631d980f752af5093a50a78df442f85244c333338b58b4f51e"
        );
        let other = sample().file("/app/hello.txt", 0o644, b"x".to_vec()).build().unwrap();
        assert_ne!(image.digest(), other.digest());
    }

    #[test]
    fn manifest_config_and_layer_name_each_other() {
        let image = sample().build().unwrap();
        let manifest: Value = serde_json::from_slice(&image.manifest.bytes).unwrap();
        let described = |blob: &Blob| json!({"mediaType": blob.media_type, "digest": blob.digest.as_str(), "size": blob.bytes.len()});
        assert_eq!(manifest["config"], described(&image.config));
        assert_eq!(manifest["layers"], json!([described(&image.layers[0])]));
        assert_eq!(manifest["schemaVersion"], 2);

        let config: Value = serde_json::from_slice(&image.config.bytes).unwrap();
        let mut tar = Vec::new();
        flate2::read::GzDecoder::new(image.layers[0].bytes.as_slice()).read_to_end(&mut tar).unwrap();
        assert_eq!(
            config,
            json!({
                "architecture": "amd64",
                "os": "linux",
                "config": {
                    "User": "65532:65532",
                    "ExposedPorts": {"8080/tcp": {}},
                    "Env": ["A=1", "B=2"],
                    "Entrypoint": ["/app/hello"],
                    "Cmd": ["--port", "8080"],
                    "Labels": {"org.opencontainers.image.title": "hello"},
                },
                "rootfs": {"type": "layers", "diff_ids": [Digest::of(&tar).as_str()]},
            })
        );
    }

    #[test]
    fn the_layer_has_folders_first_root_as_owner_and_no_time() {
        let image = sample().build().unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(image.layers[0].bytes.as_slice()));
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 0));
            let path = entry.path().unwrap().display().to_string();
            seen.push((path, header.mode().unwrap(), header.entry_type().is_dir()));
        }
        let expected = [
            ("app", 0o755, true),
            ("app/hello", 0o755, false),
            ("etc", 0o755, true),
            ("etc/passwd", 0o644, false),
            ("tmp", 0o1777, true),
        ];
        assert_eq!(seen, expected.map(|(path, mode, folder)| (path.to_owned(), mode, folder)));
    }

    #[test]
    fn a_long_path_survives() {
        let path = format!("{}/file", ["a-folder-with-a-name"; 12].join("/"));
        let image = ImageBuilder::new("amd64").file(&path, 0o644, b"x".to_vec()).build().unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(image.layers[0].bytes.as_slice()));
        let last = archive.entries().unwrap().last().unwrap().unwrap();
        assert_eq!(last.path().unwrap().display().to_string(), path);
    }

    #[test]
    fn paths_that_leave_the_image_or_meet_are_refused() {
        for path in ["", "/", "..", "a/../b", "./a", "a//b", "a/", "//a", "a\0b"] {
            let error = ImageBuilder::new("amd64").file(path, 0o644, b"".to_vec()).build().unwrap_err();
            assert_eq!(error, BuildError::BadPath { path: path.to_owned() });
        }
        let twice = sample().file("app/hello", 0o644, b"".to_vec()).build().unwrap_err();
        assert_eq!(twice, BuildError::PathTaken { path: "app/hello".to_owned() });
        let below_a_file = sample().file("app/hello/x", 0o644, b"".to_vec()).build().unwrap_err();
        assert_eq!(below_a_file, BuildError::PathTaken { path: "app/hello".to_owned() });
    }

    #[test]
    fn the_archive_holds_every_blob_under_its_name() {
        let image = sample().build().unwrap();
        let archive = image.to_archive(Some("hello:1"));
        assert_eq!(archive, image.to_archive(Some("hello:1")));
        let mut names = Vec::new();
        for entry in tar::Archive::new(archive.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            if let Some(hex) = path.strip_prefix("blobs/sha256/").filter(|hex| !hex.is_empty()) {
                assert_eq!(Digest::of(&bytes).hex(), hex);
            }
            names.push(path);
        }
        assert_eq!(names.len(), 8, "{names:?}");
    }
}
