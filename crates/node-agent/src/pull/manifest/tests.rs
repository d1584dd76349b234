use super::*;

fn digest(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}

fn part(kind: &str, letter: char, size: &str, more: &str) -> String {
    format!(r#"{{"mediaType":"{kind}","digest":"{}","size":{size}{more}}}"#, digest(letter))
}

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

fn oci(members: &str) -> String {
    format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}",{members}}}"#)
}

fn good() -> String {
    let (config, layer) = (part(CONFIG, 'a', "10", ""), part(LAYER, 'b', "20", ""));
    oci(&format!(r#""config":{config},"layers":[{layer},{layer}],"annotations":{{"x":"y"}}"#))
}

fn entry(letter: char, architecture: &str, variant: &str) -> String {
    let platform =
        format!(r#","platform":{{"os":"linux","architecture":"{architecture}","variant":"{variant}"}}"#);
    part(OCI_MANIFEST, letter, "500", &platform)
}

fn list(entries: &[String]) -> String {
    format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{}]}}"#, entries.join(","))
}

#[test]
fn an_image_is_its_config_and_its_layers_each_once() {
    let Manifest::Image(parts) = read(good().as_bytes(), OCI_MANIFEST, "amd64").unwrap() else { panic!() };
    assert_eq!(parts.iter().map(|part| part.size).collect::<Vec<_>>(), [10, 20]);
    let unnamed = good().replace(&format!(r#""mediaType":"{OCI_MANIFEST}","#), "");
    read(unnamed.as_bytes(), OCI_MANIFEST, "amd64").expect("OCI may leave the type out");
    let docker = good()
        .replace(OCI_MANIFEST, DOCKER_MANIFEST)
        .replace(CONFIG, "application/vnd.docker.container.image.v1+json")
        .replace(LAYER, "application/vnd.docker.image.rootfs.diff.tar.gzip");
    read(docker.as_bytes(), DOCKER_MANIFEST, "amd64").unwrap();
}

#[test]
fn an_index_leads_to_the_one_image_for_this_machine() {
    let attestation = part(
        OCI_MANIFEST,
        'f',
        "1",
        r#","platform":{"os":"unknown","architecture":"unknown"},"annotations":{"vnd.docker.reference.type":"x"}"#,
    );
    let text =
        list(&[entry('a', "arm64", "v8"), entry('b', "amd64", ""), entry('c', "amd64", "v3"), attestation]);
    for (architecture, letter) in [("amd64", 'b'), ("arm64", 'a')] {
        let found = read(text.as_bytes(), OCI_INDEX, architecture).unwrap();
        assert_eq!(found, Manifest::Index(Part { digest: digest(letter).parse().unwrap(), size: 500 }));
    }
    for (text, why) in [
        (list(&[entry('a', "arm64", "")]), "no image for linux/amd64"),
        (list(&[part(OCI_MANIFEST, 'a', "5", "")]), "no image for linux/amd64"),
        (list(&[]), "no image for linux/amd64"),
        (list(&[entry('a', "amd64", ""), entry('b', "amd64", "")]), "two images"),
        (list(&[entry('a', "amd64", "").replace(OCI_MANIFEST, OCI_INDEX)]), "not to an image"),
        (list(&[entry('a', "amd64", "").replace(OCI_MANIFEST, CONFIG)]), "not to an image"),
        (list(&[entry('a', "amd64", "").replace(":500", ":50000000")]), "more than 4 MiB"),
        (list(&[entry('a', "amd64", "").replace(":500", ":500,\"urls\":[\"http://x/\"]")]), "another host"),
    ] {
        let refused = read(text.as_bytes(), OCI_INDEX, "amd64").unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

/// R02, R06.
#[test]
fn manifests_that_could_mean_something_else_are_refused() {
    let config = part(CONFIG, 'a', "10", "");
    let with = |layer: &str| oci(&format!(r#""config":{config},"layers":[{layer}]"#));
    let layer = part(LAYER, 'b', "20", "");
    let bodies = [
        String::new(),
        "[]".into(),
        "{}".into(),
        "null".into(),
        good() + "x",
        good().replace("\"schemaVersion\":2", "\"schemaVersion\":1"),
        good().replace("\"schemaVersion\":2", "\"schemaVersion\":\"2\""),
        good().replace(OCI_MANIFEST, DOCKER_MANIFEST),
        good().replace(OCI_MANIFEST, OCI_INDEX),
        good().replace("\"annotations\"", "\"layers\""),
        good().replace("\"annotations\":{\"x\":\"y\"}", "\"Layers\":[]"),
        good().replace("\"annotations\":{\"x\":\"y\"}", "\"manifests\":[]"),
        good().replace("\"annotations\":{\"x\":\"y\"}", "\"fsLayers\":[]"),
        good().replace("\"annotations\":{\"x\":\"y\"}", "\"artifactType\":\"x\""),
        good().replace("\"size\":20", "\"size\":20,\"Size\":30"),
        good().replace("\"size\":20", "\"size\":20,\"\u{17f}ize\":30"),
        good().replace("\"size\":20", "\"size\":20,\"size\":20"),
        good().replace("\"size\":20", "\"SIZE\":20"),
        good().replace("\"x\":\"y\"", "\"x\":\"y\",\"X\":\"z\""),
        with(""),
        with(&part(LAYER, 'b', "-1", "")),
        with(&part(LAYER, 'b', "1.5", "")),
        with(&part(LAYER, 'b', "\"20\"", "")),
        with(&part(LAYER, 'b', "18446744073709551615", "")),
        with(&part(LAYER, 'b', "9223372036854775807", "")),
        with(&part(LAYER, 'a', "11", "")),
        with(&format!("{layer},{}", part(LAYER, 'b', "21", ""))),
        with(&part(LAYER, 'b', "20", r#","urls":["https://elsewhere/"]"#)),
        with(&part("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", 'b', "20", "")),
        with(&part("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", 'b', "20", "")),
        with(&part("application/vnd.oci.image.layer.v1.tar+gzip+encrypted", 'b', "20", "")),
        with(&part("application/octet-stream", 'b', "20", "")),
        with(&layer.replace("sha256:", "sha512:")),
        with(&layer.replace("bbbb", "BBBB")),
        with(&vec![layer.clone(); MAX_LAYERS + 1].join(",")),
        with(&layer).replace(CONFIG, "application/vnd.cncf.helm.config.v1+json"),
        with(&layer).replace(":10", ":10000000"),
        with(&layer).replace("\"config\"", "\"Config\""),
        oci(&format!(r#""layers":[{layer}]"#)),
        oci(&format!(r#""config":{config}"#)),
        oci(&format!(r#""manifests":[{}]"#, entry('a', "amd64", ""))),
        "{\"a\":".repeat(2000),
    ];
    assert!(bodies.len() >= 30);
    for body in &bodies {
        assert!(read(body.as_bytes(), OCI_MANIFEST, "amd64").is_err(), "{body}");
    }
    for kind in [
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
        "application/vnd.docker.distribution.manifest.v1+json",
        "application/json",
        "text/html",
        "",
    ] {
        assert!(read(good().as_bytes(), kind, "amd64").is_err(), "{kind}");
    }
    let docker = good().replace(&format!(r#""mediaType":"{OCI_MANIFEST}","#), "");
    assert!(read(docker.as_bytes(), DOCKER_MANIFEST, "amd64").is_err(), "Docker's says what it is");
}
