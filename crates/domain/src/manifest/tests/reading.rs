use super::super::*;
use super::{registries, sample};

fn first(text: &[u8], format: Format) -> (String, &'static str) {
    let fault = parse(text, format).unwrap_err().remove(0);
    (fault.path, fault.code)
}

const YAML: &str = r#"
# A comment.
slug: jupyter-cuda-dev
display_name: Jupyter (CUDA dev)
version: 1.4.2
artifact_kind: oci
artifact_ref: IMAGE
compatibility:
  requires_capacity_shape: [baremetal, gpu_slice]
  min_gpu_count: 1
  requires_exclusive_node: false
  supported_accelerators: [nvidia]
runtime_profile:
  kind: launchable_oci
  image_ref: IMAGE
  command: [jupyter, lab, --ip=0.0.0.0, "--port=8888"]
  env:
    - name: GRANT_SUDO
      value: no
  ports: [{container: 8888, expose: embedded_ui_gateway}]
  resources: {min_memory_mib: 4096, min_vcpu: 4}
ui: {extension_kind: embedded, path: /lab}
metering: {kind: session_seconds}
"#;

/// A-11: `no` stays a word, and both spellings are one document.
#[test]
fn yaml_and_json_of_one_meaning_have_one_digest() {
    let yaml = YAML.replace("IMAGE", &super::image("jupyter-cuda-dev"));
    let yaml = check(yaml.as_bytes(), Format::Guess, &registries()).unwrap();
    let json = parse(sample().to_string().as_bytes(), Format::Guess).unwrap();
    assert_eq!(yaml, json);
    assert_eq!(yaml.digest(), json.digest());
    let again = parse(json.canonical().as_bytes(), Format::Json).unwrap();
    assert_eq!(again.canonical(), json.canonical());
}

#[test]
fn a_repeated_key_is_refused_where_it_stands() {
    assert_eq!(
        first(br#"{"ui":{"path":"/","path":"/x"}}"#, Format::Json),
        ("/ui/path".to_owned(), "duplicate_key")
    );
    assert_eq!(
        first(b"ui:\n  path: /\n  path: /x\n", Format::Yaml),
        ("/ui/path".to_owned(), "duplicate_key")
    );
}

/// A short text must not unfold, sink or stall.
#[test]
fn bombs_are_refused_at_once() {
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n";
    assert_eq!(first(laughs.as_bytes(), Format::Yaml), ("/a".to_owned(), "yaml_feature_not_allowed"));
    assert_eq!(first(b"a: *b\n", Format::Yaml).1, "malformed_document");
    assert_eq!(first(b"a: !!python/object x\n", Format::Yaml), ("/a".to_owned(), "yaml_feature_not_allowed"));
    assert_eq!(first(b"a: .inf\n", Format::Yaml), ("/a".to_owned(), "yaml_feature_not_allowed"));
    assert_eq!(first(b"? [a, b]\n: c\n", Format::Yaml).1, "yaml_feature_not_allowed");
    assert_eq!(first(b"a: 1\n---\nb: 2\n", Format::Yaml).1, "malformed_document");
    let most = MAX_BYTES;
    for (text, format) in [
        ("[".repeat(most), Format::Json),
        ("[".repeat(most), Format::Yaml),
        ("{a: ".repeat(most / 4), Format::Yaml),
        ("- ".repeat(most / 2), Format::Yaml),
        ("? ".repeat(most / 2), Format::Yaml),
        (r#"{"a":"#.repeat(most / 5), Format::Json),
    ] {
        let fault = parse(text.as_bytes(), format).unwrap_err().remove(0);
        assert!(matches!(
            fault.code,
            "document_too_deep" | "malformed_document" | "yaml_feature_not_allowed"
        ));
        assert!(fault.path.len() < 1000, "the pointer is cut off with the depth");
    }
    assert_eq!(first(&vec![b' '; most + 1], Format::Yaml).1, "document_too_large");
}

#[test]
fn what_is_no_document_is_said_to_be_none() {
    for (text, format) in [
        (&b""[..], Format::Guess),
        (b"{", Format::Guess),
        (b"{}x", Format::Json),
        (b"{\"a\":\"\\u0000\"", Format::Json),
        (b"\xff", Format::Guess),
        (b"a: [\n", Format::Yaml),
        (b"a\0b", Format::Yaml),
    ] {
        assert_eq!(first(text, format), ("/".to_owned(), "malformed_document"), "{text:?}");
    }
    assert_eq!(first(b"[]", Format::Json), ("/".to_owned(), "wrong_type"));
    assert_eq!(first(b"hello", Format::Yaml), ("/".to_owned(), "wrong_type"));
    let message = parse(b"password: [hunter2\n", Format::Yaml).unwrap_err().remove(0).message;
    assert!(!message.contains("hunter2"), "{message}");
}

/// The core schema of YAML 1.2.
#[test]
fn plain_words_are_read_by_the_core_schema() {
    let read = |text: &str| yaml::tree(text, None).unwrap();
    for (text, value) in [
        ("no", serde_json::json!("no")),
        ("true", serde_json::json!(true)),
        ("'true'", serde_json::json!("true")),
        ("0x10", serde_json::json!(16)),
        ("0o10", serde_json::json!(8)),
        ("010", serde_json::json!(10)),
        ("-3", serde_json::json!(-3)),
        ("1.5e3", serde_json::json!(1500.0)),
        ("1.4.2", serde_json::json!("1.4.2")),
        ("12:30", serde_json::json!("12:30")),
        ("~", serde_json::Value::Null),
        ("-", serde_json::json!([null])),
        ("e5", serde_json::json!("e5")),
        ("0x+1", serde_json::json!("0x+1")),
    ] {
        assert_eq!(read(text), value, "{text}");
    }
}

/// F03: an answer is not as long as its question, however often a name is repeated in it.
#[test]
fn repeated_names_are_told_so_many_times() {
    let yaml = "a: 1\n".repeat(5000);
    let json = format!("{{{}\"b\": 1}}", "\"a\": 1,".repeat(5000));
    for (text, format) in [(yaml, Format::Yaml), (json, Format::Json)] {
        let faults = parse(text.as_bytes(), format).unwrap_err();
        assert!(faults.len() <= 200, "{}", faults.len());
    }
}
