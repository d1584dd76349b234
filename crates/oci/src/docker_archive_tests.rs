//! Archives as an engine writes them, and as somebody writes them who means harm.

use serde_json::{Value, json};

use super::*;
use crate::Layout;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/layer.tar";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/layer.tar";
const C: &str = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc/layer.tar";

enum Member {
    File(Vec<u8>),
    Link(String),
}

fn file(bytes: impl Into<Vec<u8>>) -> Member {
    Member::File(bytes.into())
}

fn layer(text: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "file", text.as_bytes()).unwrap();
    tar.into_inner().unwrap()
}

fn config(layers: &[&[u8]]) -> Vec<u8> {
    let diff_ids: Vec<String> = layers.iter().map(|layer| Digest::of(layer).to_string()).collect();
    let config = json!({"architecture": "amd64", "os": "linux", "docker_version": "20.10.24",
        "config": {"Cmd": ["/x"]}, "rootfs": {"type": "layers", "diff_ids": diff_ids}});
    config.to_string().into_bytes()
}

fn config_name(config: &[u8]) -> String {
    format!("{}.json", Digest::of(config).hex())
}

fn list(config: &[u8], layers: &[&str]) -> Member {
    file(json!([{"Config": config_name(config), "RepoTags": null, "Layers": layers}]).to_string())
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn archive(&self, members: Vec<(&str, Member)>) -> PathBuf {
        let path = self.0.path().join("image.tar");
        let mut tar = tar::Builder::new(File::create(&path).unwrap());
        for (name, member) in members {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            match member {
                Member::File(bytes) => {
                    header.set_size(bytes.len() as u64);
                    tar.append_data(&mut header, name, bytes.as_slice()).unwrap();
                }
                Member::Link(target) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_size(0);
                    tar.append_link(&mut header, name, target).unwrap();
                }
            }
        }
        tar.into_inner().unwrap();
        path
    }

    fn unpack(&self, members: Vec<(&str, Member)>) -> Result<PathBuf> {
        let path = self.archive(members);
        let into = tempfile::tempdir_in(self.0.path()).unwrap().keep();
        unpack_docker_archive(&path, &into, &|_, _| true).map(|()| into)
    }
}

fn sound() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (one, two) = (layer("one"), layer("two"));
    let config = config(&[&one, &two, &one]);
    (one, two, config)
}

#[test]
fn what_an_engine_saved_becomes_the_same_image_every_time() {
    let folder = Folder::new();
    let (one, two, config) = sound();
    let name = config_name(&config);
    let members = || {
        vec![
            (A, file(one.clone())),
            (B, file(two.clone())),
            (C, Member::Link(format!("../{A}"))),
            (name.as_str(), file(config.clone())),
            ("repositories", file("{}")),
            (LIST, list(&config, &[A, B, C])),
        ]
    };
    let path = folder.archive(members());
    assert!(is_docker_archive(&path) && Layout::open(&path).is_err());
    let layout = Layout::open(folder.unpack(members()).unwrap()).unwrap();
    let [entry] = layout.entries() else { panic!("one image") };
    let images = layout.images(entry).unwrap();
    let [image] = images.as_slice() else { panic!("one image") };
    image.manifest.check_runnable().unwrap();
    let kept = layout.read(&image.manifest.config, MAX_CONFIG_BYTES).unwrap();
    assert_eq!(kept, config, "the configuration keeps its digest");
    image.manifest.check_config(&kept, &crate::manifest::Platform::linux("amd64")).unwrap();
    let plain: Vec<Vec<u8>> = image.manifest.layers.iter().map(|part| unzipped(&layout, part)).collect();
    assert_eq!(plain, [one.clone(), two.clone(), one.clone()]);
    assert_eq!(image.manifest.layers[0], image.manifest.layers[2]);
    let again = Layout::open(folder.unpack(members()).unwrap()).unwrap();
    assert_eq!(again.entries(), layout.entries());
}

fn unzipped(layout: &Layout, part: &Descriptor) -> Vec<u8> {
    let packed = layout.read(part, 1 << 20).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// R02, F07.
#[test]
fn an_archive_that_lies_is_refused() {
    let folder = Folder::new();
    let (one, two, config) = sound();
    let name = config_name(&config);
    let with = |list: Member, more: Vec<(&'static str, Member)>| {
        let mut members = vec![(name.as_str(), file(config.clone())), (LIST, list)];
        members.extend(more);
        folder.unpack(members).unwrap_err()
    };
    let layers = || vec![(A, file(one.clone())), (B, file(two.clone()))];

    assert_eq!(folder.unpack(vec![("x", file("x"))]).unwrap_err(), BadArchive::NoList);
    assert!(matches!(with(file("{"), Vec::new()), BadArchive::List(_)));
    assert!(matches!(with(file("{}"), Vec::new()), BadArchive::List(BadJson::WrongType { .. })));
    assert_eq!(with(file("[]"), Vec::new()), BadArchive::Images { found: 0 });
    assert_eq!(with(file("[{},{}]"), Vec::new()), BadArchive::Images { found: 2 });
    assert!(matches!(with(file(r#"[{"Config":"a","config":"b"}]"#), Vec::new()), BadArchive::List(_)));
    let many = vec![A; MAX_LAYERS + 1];
    assert_eq!(with(list(&config, &many), layers()), BadArchive::TooManyLayers { found: MAX_LAYERS + 1 });
    assert_eq!(with(list(&config, &[A]), layers()), BadArchive::LayerCount { layers: 1, diff_ids: 3 });
    assert!(matches!(with(list(&config, &[A, B, B]), layers()), BadArchive::OtherLayer { .. }));
    assert!(matches!(with(list(&config, &[A, B, C]), layers()), BadArchive::NoFile { .. }));
    let twice = with(list(&config, &[A, B, A]), vec![(A, file(one.clone())), (A, file(two.clone()))]);
    assert!(matches!(twice, BadArchive::Twice { .. }));

    for target in ["/etc/passwd", "../../../etc/passwd", "../x/layer.tar", C, &format!("../{C}")] {
        let link = (C, Member::Link((*target).to_owned()));
        let refused = with(list(&config, &[A, B, C]), layers().into_iter().chain([link]).collect());
        assert_eq!(refused, BadArchive::NoFile { file: C.to_owned() }, "{target}");
    }
    let own = file(json!([{"Config": "link.json", "Layers": []}]).to_string());
    let refused = with(own, vec![("link.json", Member::Link(name.clone()))]);
    assert_eq!(refused, BadArchive::NoFile { file: "link.json".to_owned() });

    let other = file(json!([{"Config": "other.json", "Layers": [A, B, A]}]).to_string());
    let refused = with(other, vec![("other.json", file(config.clone()))]);
    assert_eq!(refused, BadArchive::ConfigName { file: "other.json".to_owned() });
    for (bad, what) in [(json!({}), "no rootfs"), (json!({"rootfs": {"diff_ids": ["sha512:0"]}}), "digests")]
    {
        let bytes = Value::to_string(&bad).into_bytes();
        let name = config_name(&bytes);
        let refused =
            folder.unpack(vec![(&name, file(bytes.clone())), (LIST, list(&bytes, &[]))]).unwrap_err();
        assert!(matches!(refused, BadArchive::Config(_)), "{what}: {refused:?}");
    }
}

#[test]
fn a_cut_archive_and_a_stop_leave_no_layout() {
    let folder = Folder::new();
    let (one, two, config) = sound();
    let name = config_name(&config);
    let path = folder.archive(vec![
        (name.as_str(), file(config.clone())),
        (LIST, list(&config, &[A, B, A])),
        (A, file(one)),
        (B, file(two)),
    ]);
    let into = folder.0.path().join("stopped");
    assert_eq!(unpack_docker_archive(&path, &into, &|_, _| false), Err(BadArchive::Stopped));
    assert!(Layout::open(&into).is_err());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 2048]).unwrap();
    let into = folder.0.path().join("cut");
    assert!(matches!(unpack_docker_archive(&path, &into, &|_, _| true), Err(BadArchive::Unreadable { .. })));
    assert!(Layout::open(&into).is_err());
}
