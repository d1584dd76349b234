//! Charts of others: what people may set of them.

use gpuaas_domain::render::helm::{self, CuratedSubset, check_values};
use gpuaas_domain::render::render;
use serde_json::{Value, json};

use super::readers::trees;
use super::{ENGINES, SAMPLES, sample, sample_tree};

fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["image"],
        "additionalProperties": false,
        "properties": {
            "image": {"type": "string"},
            "replicas": {"type": "integer", "minimum": 1, "maximum": 3},
            "service": {
                "type": "object",
                "properties": {"type": {"enum": ["ClusterIP"]}, "port": {"$ref": "#/definitions/port"}},
                "additionalProperties": false
            },
            "hosts": {"type": "array", "items": {"type": "string", "pattern": "^[a-z.]+$"}, "uniqueItems": true},
            "size": {"oneOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+Gi$"}]},
            "labels": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "string"}}, "additionalProperties": false}
        },
        "definitions": {"port": {"type": "integer", "exclusiveMinimum": 0}}
    })
}

fn faults(values: &Value) -> Vec<(String, &'static str)> {
    let subset = ["/replicas", "/service/port", "/hosts", "/size", "/labels", "/a~1b"];
    let subset = CuratedSubset(subset.map(str::to_owned).to_vec());
    let faults =
        check_values(values, &subset, &json!({"image": "x", "service": {"type": "ClusterIP"}}), &schema());
    faults.into_iter().map(|fault| (fault.path, fault.code)).collect()
}

/// B-11: numbers are judged by their worth: whole ones exactly, whatever their size, others as people write them.
#[test]
fn numbers_are_judged_by_their_worth() {
    let most = 9_007_199_254_740_993_i64;
    for (rule, value, is_good) in [
        (json!({"maximum": most}), json!(most), true),
        (json!({"maximum": most - 1}), json!(most), false),
        (json!({"exclusiveMinimum": most - 1}), json!(most), true),
        (json!({"minimum": 0.5}), json!(1), true),
        (json!({"multipleOf": 0.1}), json!(0.3), true),
        (json!({"multipleOf": 0.1}), json!(0.35), false),
        (json!({"multipleOf": 3}), json!(most), most % 3 == 0),
        (json!({"multipleOf": 2}), json!(most), false),
        (json!({"enum": [1.0]}), json!(1), true),
        (json!({"const": most - 1}), json!(most), false),
    ] {
        let schema = json!({"type": "object", "properties": {"number": rule}});
        let subset = CuratedSubset(vec!["/number".to_owned()]);
        let faults = check_values(&json!({"number": value}), &subset, &json!({}), &schema);
        assert_eq!(faults.is_empty(), is_good, "{schema} {value} {faults:?}");
    }
}

/// B-05: every reader of YAML takes a number for the same number, however large or small.
#[test]
fn numbers_arrive_as_numbers() {
    let mut input = sample_tree(SAMPLES[0]);
    let numbers =
        json!({"a": 1e21, "b": 1.5e-9, "c": 0.1, "d": 3.0, "e": -1e300, "f": u64::MAX, "g": i64::MIN});
    input["helm"] = json!({"chart": "demo", "version": "1.0.0", "values": numbers});
    let rendered =
        render(gpuaas_domain::manifest::ExecutionEngine::Helm, &serde_json::from_value(input).unwrap())
            .unwrap();
    let values = rendered.files.iter().find(|file| file.name.contains("values")).unwrap();
    assert_eq!(super::readers::read(&values.bytes), numbers);
    for line in values.bytes.lines().filter(|line| line.contains('e') && !line.starts_with("e:")) {
        assert!(
            line.contains('.') && (line.contains("e+") || line.contains("e-")),
            "YAML 1.1 takes {line} for text"
        );
    }
}

/// B-11: only curated values can be set, and those as the chart's own schema has it.
#[test]
fn only_curated_values_can_be_set() {
    let good = json!({"replicas": 2, "service": {"port": 80}, "hosts": ["a.b"], "size": "5Gi", "labels": {"a": "b"}});
    assert_eq!(faults(&good), []);
    assert_eq!(faults(&json!({})), []);
    for (values, path, code) in [
        (json!([]), "/", "wrong_type"),
        (json!({"image": "evil"}), "/image", "value_not_curated"),
        (json!({"service": {"type": "LoadBalancer"}}), "/service/type", "value_not_curated"),
        (json!({"service": null}), "/service", "value_not_curated"),
        (json!({"service": {}}), "/service", "value_not_curated"),
        (json!({"replicasX": 1}), "/replicasX", "value_not_curated"),
        (json!({"x\u{202e}y": 1}), "/x\u{fffd}y", "value_not_curated"),
        (json!({"a/b": 1}), "/a~1b", "unknown_field"),
        (json!({"replicas": 4}), "/replicas", "out_of_range"),
        (json!({"replicas": "2"}), "/replicas", "wrong_type"),
        (json!({"service": {"port": 0}}), "/service/port", "out_of_range"),
        (json!({"hosts": ["A"]}), "/hosts/0", "invalid_value"),
        (json!({"hosts": ["a", "a"]}), "/hosts", "invalid_value"),
        (json!({"size": true}), "/size", "invalid_value"),
        (json!({"labels": {"A": "b"}}), "/labels/A", "unknown_field"),
        (json!({"labels": {"a": 1}}), "/labels/a", "wrong_type"),
    ] {
        assert_eq!(faults(&values), [(path.to_owned(), code)], "{values}");
    }
}

/// B-11: a rule that cannot be judged is no rule that is met.
#[test]
fn a_schema_that_cannot_be_judged_takes_nothing() {
    let open = CuratedSubset(vec!["/a".to_owned()]);
    for schema in [
        json!({"unevaluatedProperties": false}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "#"}),
        json!({"properties": {"a": {"pattern": "(?=x)"}}}),
        json!({"properties": {"a": "text"}}),
        json!({"not": {"unevaluatedProperties": false}}),
        json!({"if": {"$ref": "https://example.com/schema.json"}}),
        json!({"not": {"$ref": "#"}}),
        json!({"allOf": {"type": "string"}}),
        json!({"required": "a"}),
        json!({"properties": {"a": {"maxLength": "1"}}}),
    ] {
        let faults = check_values(&json!({"a": "x"}), &open, &json!({}), &schema);
        let codes: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, ["schema_not_supported"], "{schema}");
    }
}

/// B-11, F07: a short schema whose branches lead back to itself is given up on, not followed for years; and whoever sets
/// everything is told no more than a person reads.
#[test]
fn judging_ends_soon() {
    let open = CuratedSubset(vec!["/a".to_owned()]);
    let twice = |keyword: &str| json!({ keyword: [{"$ref": "#"}, {"$ref": "#"}] });
    for schema in [twice("allOf"), twice("anyOf"), twice("oneOf"), json!({"not": twice("allOf")})] {
        let faults = check_values(&json!({"a": "x"}), &open, &json!({}), &schema);
        assert!(
            !faults.is_empty() && faults.iter().all(|fault| fault.code == "schema_not_supported"),
            "{schema}"
        );
    }
    let many: Value = (0..1000).map(|number| (format!("x{number}"), json!(1))).collect();
    assert_eq!(check_values(&many, &open, &json!({}), &json!({})).len(), 100);
}

/// B-11, D-11: what we render for our own chart satisfies its schema, and privilege cannot be written into it.
#[test]
fn our_values_satisfy_our_charts_schema() {
    let all = CuratedSubset(vec!["/objects".to_owned()]);
    let check = |values: &Value| check_values(values, &all, &json!({"objects": []}), &helm::values_schema());
    for name in SAMPLES {
        let values = trees(&render(ENGINES[3].1, &sample(name)).unwrap()).remove(1);
        assert_eq!(check(&values), []);
        let deployment =
            values["objects"].as_array().unwrap().iter().position(|one| one["kind"] == "Deployment");
        let at = format!("/objects/{}/spec/template/spec", deployment.unwrap());
        for (place, member, value) in [
            ("", "hostNetwork", json!(true)),
            ("/containers/0/securityContext", "privileged", json!(true)),
            ("/containers/0/securityContext", "allowPrivilegeEscalation", json!(true)),
            ("/containers/0", "image", json!("nginx:latest")),
            ("/volumes/0", "hostPath", json!({"path": "/"})),
            ("", "automountServiceAccountToken", json!(true)),
        ] {
            let mut worse = values.clone();
            if let Some(object) = worse.pointer_mut(&format!("{at}{place}")) {
                object[member] = value;
                assert_ne!(check(&worse), [], "{member}");
            }
        }
    }
}

/// D-11: a chart of somebody else's gets its values as data, and nothing that it might run as a template.
#[test]
fn a_foreign_chart_gets_values_and_no_templates() {
    let mut input = sample_tree("one");
    input["components"] = json!([]);
    input["helm"] =
        json!({"chart": "ray-cluster", "version": "1.7.0", "values": {"head": {"args": ["$x", "no"]}}});
    let read = |input: &Value| helm::render(&serde_json::from_value(input.clone()).unwrap());
    let files = trees(&read(&input).unwrap());
    assert_eq!(files[0]["chart"], "ray-cluster");
    assert_eq!(files[1], json!({"head": {"args": ["$x", "no"]}}));
    for (pointer, value, path) in [
        ("/helm/values/head/args/0", json!("{{ .Release.Name }}"), "/helm/values/head/args/0"),
        ("/helm/values/head", json!({"{{x": 1}), "/helm/values/head/{{x"),
        ("/helm/chart", json!("../evil"), "/helm/chart"),
        ("/helm/chart", json!("oci://evil/x"), "/helm/chart"),
    ] {
        let mut worse = input.clone();
        *worse.pointer_mut(pointer).unwrap() = value;
        let refusal = read(&worse).unwrap_err();
        assert_eq!(refusal.refusing().map(|gap| gap.path.as_str()).collect::<Vec<_>>(), [path]);
    }
    assert!(gpuaas_domain::render::compose::render(&serde_json::from_value(input).unwrap()).is_err());
}

/// D-11, F03: what Helm would drop without a word is refused before it gets there; other engines take it.
#[test]
fn characters_that_helm_loses_are_refused() {
    let mut input = sample_tree("one");
    input["components"][0]["env"][1]["value"] = json!("a\u{7f}b");
    let input = serde_json::from_value(input).unwrap();
    let refusal = helm::render(&input).unwrap_err();
    let refused: Vec<(&str, &str)> = refusal.refusing().map(|gap| (gap.path.as_str(), gap.code)).collect();
    assert_eq!(refused, [("/components/0/env/1/value", "character_not_printable")]);
    assert!(gpuaas_domain::render::kubernetes::render(&input).is_ok());
}
