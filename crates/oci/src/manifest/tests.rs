use super::*;
use crate::json::BadJson;

const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

fn digest(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}

fn part(kind: &str, letter: char, size: &str, more: &str) -> String {
    format!(r#"{{"mediaType":"{kind}","digest":"{}","size":{size}{more}}}"#, digest(letter))
}

fn oci(members: &str) -> String {
    format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}",{members}}}"#)
}

fn with(layers: &str) -> String {
    oci(&format!(r#""config":{},"layers":[{layers}]"#, part(CONFIG_TYPE, 'a', "10", "")))
}

fn layer() -> String {
    part(LAYER_TYPE, 'b', "20", "")
}

fn entry(letter: char, architecture: &str, variant: &str) -> String {
    let platform =
        format!(r#","platform":{{"os":"linux","architecture":"{architecture}","variant":"{variant}"}}"#);
    part(OCI_MANIFEST, letter, "500", &platform)
}

fn list(entries: &[String]) -> String {
    format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{}]}}"#, entries.join(","))
}

fn amd64() -> Platform {
    Platform::linux("amd64")
}

/// As a node reads: the shape, then whether it may run here.
fn runnable(bytes: &[u8], content_type: &str) -> Result<()> {
    match read(bytes, content_type)? {
        Manifest::Image(image) => image.check_runnable(),
        Manifest::Index(index) => index.choose(&amd64()).map(drop),
    }
}

#[test]
fn an_image_is_read_as_it_is_written() {
    let Ok(Manifest::Image(image)) = read(with(&format!("{},{}", layer(), layer())).as_bytes(), OCI_MANIFEST)
    else {
        panic!("an ordinary image")
    };
    image.check_runnable().unwrap();
    assert_eq!((image.config.size, image.layers.len(), image.layers[0].size), (10, 2, 20));
    let unnamed = with(&layer()).replace(&format!(r#""mediaType":"{OCI_MANIFEST}","#), "");
    runnable(unnamed.as_bytes(), OCI_MANIFEST).expect("OCI may leave the type out");
    let docker = with(&layer())
        .replace(OCI_MANIFEST, DOCKER_MANIFEST)
        .replace(CONFIG_TYPE, "application/vnd.docker.container.image.v1+json")
        .replace(LAYER_TYPE, "application/vnd.docker.image.rootfs.diff.tar.gzip");
    runnable(docker.as_bytes(), DOCKER_MANIFEST).unwrap();
    let annotated = with(&layer())
        .replace(r#""schemaVersion""#, r#""annotations":{"Size":"x","size":"y"},"schemaVersion""#);
    runnable(annotated.as_bytes(), OCI_MANIFEST).expect("an annotation may be called anything");
}

#[test]
fn an_index_leads_to_the_one_image_for_a_machine() {
    let attestation = part(
        OCI_MANIFEST,
        'f',
        "1",
        r#","platform":{"os":"unknown","architecture":"unknown"},"annotations":{"vnd.docker.reference.type":"x"}"#,
    );
    let text =
        list(&[entry('a', "arm64", "v8"), entry('b', "amd64", ""), entry('c', "amd64", "v3"), attestation]);
    let Ok(Manifest::Index(index)) = read(text.as_bytes(), OCI_INDEX) else { panic!("an ordinary index") };
    for (architecture, letter) in [("amd64", 'b'), ("arm64", 'a')] {
        let found = index.choose(&Platform::linux(architecture)).unwrap();
        assert_eq!(found.digest.as_str(), digest(letter));
    }
}

fn unreadable(why: BadJson) -> BadManifest {
    BadManifest::Json(why)
}

/// R02, F07: what could be read in two ways, or is not what it says, is refused, each with its own reason.
#[test]
fn every_ambiguous_manifest_is_refused_with_a_reason_of_its_own() {
    use BadManifest::*;
    let text = str::to_owned;
    let mut corpus: Vec<(&str, Vec<u8>, BadManifest)> = Vec::new();
    let mut image =
        |manifest: String, why: BadManifest| corpus.push((OCI_MANIFEST, manifest.into_bytes(), why));
    let good = with(&layer());

    image(String::new(), unreadable(BadJson::Empty));
    image("\u{feff}".to_owned() + &good, unreadable(BadJson::ByteOrderMark));
    image("[]".into(), unreadable(BadJson::NoObject { path: String::new() }));
    image(
        good[..good.len() - 1].to_owned(),
        unreadable(BadJson::Malformed { line: 1, column: good.len() - 1 }),
    );
    image(good.clone() + "{}", unreadable(BadJson::Trailing { line: 1, column: good.len() + 1 }));
    image("[".repeat(4000), unreadable(BadJson::TooDeep { most: 32 }));
    image(format!("[{}1]", "1,".repeat(200_000)), unreadable(BadJson::TooManyValues { most: 100_000 }));
    let large = format!("{good}{}", " ".repeat(MAX_MANIFEST_BYTES));
    image(large.clone(), unreadable(BadJson::TooLarge { bytes: large.len(), most: MAX_MANIFEST_BYTES }));
    image(
        good.replace(r#""size":20"#, r#""size":20,"size":30"#),
        unreadable(BadJson::Duplicate { member: text("size") }),
    );
    image(
        good.replace(r#""layers""#, r#""layers":[],"layers""#),
        unreadable(BadJson::Duplicate { member: text("layers") }),
    );
    image(
        good.replace(r#""size":20"#, r#""size":20,"Size":30"#),
        unreadable(BadJson::Misspelled { member: text("Size"), meant: "size" }),
    );
    image(
        good.replace(r#""size":20"#, r#""size":20,"ſize":30"#),
        unreadable(BadJson::Misspelled { member: text("ſize"), meant: "size" }),
    );
    image(
        good.replace(r#""config""#, r#""Config":{},"config""#),
        unreadable(BadJson::Misspelled { member: text("Config"), meant: "config" }),
    );
    image(
        good.replace(r#""size":20"#, r#""note":20"#),
        unreadable(BadJson::Missing { path: text("layers[0].size") }),
    );
    image(with("7"), unreadable(BadJson::NoObject { path: text("layers[0]") }));
    image(
        good.replace(r#""layers":["#, r#""annotations":{"a":1},"layers":["#),
        unreadable(BadJson::WrongType { path: text("annotations.a"), wanted: "text" }),
    );
    image(
        oci(r#""config":{},"layers":{}"#),
        unreadable(BadJson::WrongType { path: text("layers"), wanted: "a list" }),
    );
    image(good.replace(r#"ion":2"#, r#"ion":1"#), SchemaVersion);
    image(good.replace(r#""layers""#, r#""fsLayers":[],"layers""#), FirstSchemaMembers);
    image(
        good.replace(OCI_MANIFEST, DOCKER_MANIFEST),
        TypeMismatch { own: text(DOCKER_MANIFEST), sent: text(OCI_MANIFEST) },
    );
    image(good.replace(r#""layers""#, r#""manifests":[],"layers""#), BothImageAndIndex);
    image(oci(r#""manifests":[]"#), IndexAsImage);
    image(oci(&format!(r#""layers":[{}]"#, layer())), ConfigMissing);
    image(oci(&format!(r#""config":{}"#, part(CONFIG_TYPE, 'a', "10", ""))), LayersMissing);
    image(with(""), NoLayers);
    image(with(&vec![layer(); MAX_LAYERS + 1].join(",")), TooManyLayers { found: MAX_LAYERS + 1 });
    image(good.replace("bbbb", "BBBB"), MalformedDigest { path: text("layers[0].digest") });
    image(with(&layer().replace("sha256:", "sha512:")), UnsupportedDigest { path: text("layers[0].digest") });
    image(with(&part(LAYER_TYPE, 'b', "-1", "")), MalformedSize { path: text("layers[0].size") });
    image(
        with(&format!("{},{}", layer(), part(LAYER_TYPE, 'c', "1e3", ""))),
        MalformedSize { path: text("layers[1].size") },
    );
    image(
        with(&part(LAYER_TYPE, 'b', "5", r#","data":"aGVsbG8=""#)),
        InlineData { path: text("layers[0].data") },
    );
    image(
        with(&format!("{},{}", layer(), part(LAYER_TYPE, 'b', "21", ""))),
        TwoSizes { digest: digest('b').parse().unwrap() },
    );
    image(with(&part(LAYER_TYPE, 'a', "10", "")), TwoTypes { digest: digest('a').parse().unwrap() });
    image(with(&part(LAYER_TYPE, 'b', "18446744073709551615", "")), SizesOverflow);
    image(
        with(&part(LAYER_TYPE, 'b', "20", r#","urls":["https://elsewhere/"]"#)),
        Elsewhere { path: text("layers[0]") },
    );
    image(
        good.replace(r#""layers""#, r#""artifactType":"x/y","layers""#),
        Artifact { artifact_type: text("x/y") },
    );
    let helm = "application/vnd.cncf.helm.config.v1+json";
    image(good.replace(CONFIG_TYPE, helm), ConfigType { media_type: text(helm) });
    image(good.replace(":10}", ":10000000}"), ConfigTooLarge { bytes: 10_000_000 });
    let foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
    image(good.replace(LAYER_TYPE, foreign), LayerType { media_type: text(foreign) });
    image(good.replace(LAYER_TYPE, &format!("{LAYER_TYPE}+encrypted")), EncryptedLayer);

    let mut not_utf8 = good.clone().into_bytes();
    not_utf8[good.find("size").unwrap()] = 0xff;
    corpus.push((OCI_MANIFEST, not_utf8, unreadable(BadJson::NotUtf8)));
    let untyped = good.replace(&format!(r#""mediaType":"{OCI_MANIFEST}","#), "");
    corpus.push((DOCKER_MANIFEST, untyped.into_bytes(), TypeMissing));
    corpus.push((
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
        good.clone().into_bytes(),
        Schema1,
    ));
    corpus.push(("text/html", good.clone().into_bytes(), UnknownType { media_type: text("text/html") }));

    let mut index = |text: String, why: BadManifest| corpus.push((OCI_INDEX, text.into_bytes(), why));
    let wanted = || text("linux/amd64");
    let fitting = entry('a', "amd64", "");
    index(good.replace(OCI_MANIFEST, OCI_INDEX), ImageAsIndex);
    index(oci(r#""x":1"#).replace(OCI_MANIFEST, OCI_INDEX), ManifestsMissing);
    index(list(&[entry('a', "arm64", ""), entry('b', "amd64", "v4")]), NoPlatform { wanted: wanted() });
    index(list(&[fitting.clone(), entry('b', "amd64", "v1")]), TwoPlatforms { wanted: wanted() });
    index(list(&[fitting.replace(OCI_MANIFEST, OCI_INDEX)]), NestedIndex);
    index(list(&[fitting.replace(OCI_MANIFEST, CONFIG_TYPE)]), EntryType { media_type: text(CONFIG_TYPE) });
    index(list(&[fitting.replace(":500", ":50000000")]), EntryTooLarge { bytes: 50_000_000 });
    index(
        list(&[fitting.replace(":500", r#":500,"urls":["http://x/"]"#)]),
        Elsewhere { path: text("manifests[0]") },
    );
    index(list(&vec![fitting.clone(); MAX_ENTRIES + 1]), TooManyEntries { found: MAX_ENTRIES + 1 });

    let mut reasons = std::collections::BTreeSet::new();
    for (content_type, bytes, why) in &corpus {
        let start: String = String::from_utf8_lossy(bytes).chars().take(300).collect();
        assert_eq!(runnable(bytes, content_type), Err(why.clone()), "{start}");
        assert!(reasons.insert(why.to_string()), "{why} is there twice");
    }
    assert!(reasons.len() >= 30, "{}", reasons.len());
}

/// R02: a descriptor's promise is kept to the byte before anything is read.
#[test]
fn bytes_that_are_not_those_promised_are_refused() {
    let text = with(&layer());
    let promise = |bytes: &[u8]| Descriptor::of(OCI_MANIFEST, bytes);
    read_promised(text.as_bytes(), &promise(text.as_bytes())).unwrap();
    let longer = format!("{text} ");
    let refused = read_promised(longer.as_bytes(), &promise(text.as_bytes())).unwrap_err();
    assert_eq!(refused, BadManifest::OtherSize { promised: text.len() as u64, found: text.len() as u64 + 1 });
    let other = text.replace(":20", ":21");
    let refused = read_promised(other.as_bytes(), &promise(text.as_bytes())).unwrap_err();
    assert!(matches!(refused, BadManifest::OtherDigest { .. }), "{refused}");
}

/// R02: an index that calls an image what its configuration is not is found out.
#[test]
fn a_config_for_another_machine_or_of_another_image_is_refused() {
    let built = crate::ImageBuilder::new("amd64").file("x", 0o644, b"x".to_vec()).build().unwrap();
    let Ok(Manifest::Image(image)) = read(&built.manifest.bytes, OCI_MANIFEST) else { panic!("our own") };
    image.check_config(&built.config.bytes, &amd64()).unwrap();
    let refused = image.check_config(&built.config.bytes, &Platform::linux("arm64")).unwrap_err();
    assert_eq!(refused.to_string(), "the config is for linux/amd64, not for linux/arm64");
    let changed = |config: String| {
        let mut image = image.clone();
        (image.config.digest, image.config.size) = (Digest::of(config.as_bytes()), config.len() as u64);
        image.check_config(config.as_bytes(), &amd64()).unwrap_err().to_string()
    };
    let config = String::from_utf8(built.config.bytes.clone()).unwrap();
    assert_eq!(
        changed(config.replace("[\"sha", "[\"x\",\"sha")),
        "the config names 2 layers, the manifest 1"
    );
    assert_eq!(
        changed(config.replace("\"layers\"", "\"layers+base\"")),
        "the root file system is of the type \"layers+base\""
    );
    assert!(image.check_config(b"{}", &amd64()).is_err());
}

/// F07: what costs the reader more than one pass is a weapon.
#[test]
fn a_manifest_full_of_annotations_is_read_in_a_moment() {
    let notes: Vec<String> = (0..90_000).map(|at| format!("\"{at}\":\"x\"")).collect();
    let text =
        with(&layer()).replace("\"config\"", &format!("\"annotations\":{{{}}},\"config\"", notes.join(",")));
    let started = std::time::Instant::now();
    runnable(text.as_bytes(), OCI_MANIFEST).unwrap();
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// R02, R06: what an engine could run as something else is not run, whichever of the reasons above it has.
#[test]
fn manifests_that_could_mean_something_else_are_not_run() {
    let twice = with(&format!("{},{}", layer(), layer()));
    let good = twice.replace(r#""schemaVersion":2,"#, r#""schemaVersion":2,"annotations":{"x":"y"},"#);
    runnable(good.as_bytes(), OCI_MANIFEST).expect("what the others are made from");
    let instead_of_notes = |member: &str| good.replace(r#""annotations":{"x":"y"}"#, member);
    let bodies = [
        "{}".to_owned(),
        "null".into(),
        good.clone() + "x",
        good.replace(r#""schemaVersion":2"#, r#""schemaVersion":"2""#),
        good.replace(OCI_MANIFEST, OCI_INDEX),
        good.replace(r#""annotations""#, r#""layers""#),
        instead_of_notes(r#""Layers":[]"#),
        instead_of_notes(r#""manifests":[]"#),
        instead_of_notes(r#""fsLayers":[]"#),
        instead_of_notes(r#""artifactType":"x""#),
        good.replace(r#""size":20"#, r#""size":20,"size":20"#),
        good.replace(r#""size":20"#, r#""SIZE":20"#),
        with(&part(LAYER_TYPE, 'b', "1.5", "")),
        with(&part(LAYER_TYPE, 'b', "\"20\"", "")),
        with(&part(LAYER_TYPE, 'b', "9223372036854775807", "")),
        with(&part(LAYER_TYPE, 'a', "11", "")),
        with(&part("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", 'b', "20", "")),
        with(&part("application/octet-stream", 'b', "20", "")),
        with(&layer()).replace(r#""config""#, r#""Config""#),
        oci(&format!(r#""manifests":[{}]"#, entry('a', "amd64", ""))),
        r#"{"a":"#.repeat(2000),
    ];
    for body in &bodies {
        assert!(runnable(body.as_bytes(), OCI_MANIFEST).is_err(), "{body}");
    }
    for kind in ["application/vnd.docker.distribution.manifest.v1+json", "application/json", ""] {
        assert!(runnable(good.as_bytes(), kind).is_err(), "{kind}");
    }
    let artifact = list(&[entry('a', "amd64", "")])
        .replace(r#""schemaVersion":2,"#, r#""schemaVersion":2,"artifactType":"x","#);
    for index in [list(&[]), list(&[part(OCI_MANIFEST, 'a', "5", "")]), artifact] {
        assert!(runnable(index.as_bytes(), OCI_INDEX).is_err(), "{index}");
    }
}
