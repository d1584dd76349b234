//! From the values of older versions to those of this one.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::*;
use super::{faults, sample, with};

fn app(parameters: Value, migrations: Value) -> Value {
    let document = with(with(sample(), "/version", json!("3.0.0")), "/parameters", parameters);
    with(document, "/migrations", migrations)
}

fn manifest(document: &Value) -> Manifest {
    parse(document.to_string().as_bytes(), Format::Json).unwrap().manifest
}

fn migrated(document: &Value, from: &str, values: Value) -> Result<Value, Vec<FieldError>> {
    let Value::Object(values) = values else { panic!("values are an object") };
    migrate(&values, &Version::parse(from).unwrap(), &manifest(document)).map(Value::Object)
}

fn chat() -> Value {
    app(
        json!({
            "model": {"type": "string", "default": "small"},
            "mode": {"type": "string", "enum": ["hub", "local"]},
            "context": {"type": "integer", "minimum": 1}
        }),
        json!([
            {"from": "<2.0.0", "rename": {"model_name": "model_id"}, "remove": ["legacy"]},
            {"from": "<3.0.0", "rename": {"model_id": "model"}, "set": {"mode": "hub"}}
        ]),
    )
}

/// H-04: every step for the older version, one after the other; what no step speaks of stays.
#[test]
fn values_take_every_step_of_their_version() {
    assert_eq!(faults(&chat()), []);
    let old = json!({"model_name": "large", "legacy": 1, "context": 9, "own": true});
    assert_eq!(
        migrated(&chat(), "1.4.0", old).unwrap(),
        json!({"model": "large", "mode": "hub", "context": 9, "own": true})
    );
    let newer = json!({"model_id": "large", "legacy": 1});
    assert_eq!(
        migrated(&chat(), "2.1.0", newer).unwrap(),
        json!({"model": "large", "mode": "hub", "legacy": 1})
    );
    let same = json!({"model_id": "large"});
    assert_eq!(migrated(&chat(), "3.0.0", same.clone()).unwrap(), same, "no step is for this version");
}

/// H-04: nothing is lost without a word.
#[test]
fn a_value_does_not_take_the_place_of_another() {
    let both = migrated(&chat(), "2.0.0", json!({"model_id": "large", "model": "small"})).unwrap_err();
    assert_eq!((both[0].path.as_str(), both[0].code), ("/values/model_id", "migration_conflict"));
    assert!(!both[0].message.contains("large") && !both[0].message.contains("small"), "no value is repeated");
}

/// H-04: steps that cannot be taken, or lead nowhere, are refused at registration.
#[test]
fn a_step_that_leads_nowhere_is_refused() {
    for (pointer, value, at, code) in [
        ("0/from", json!("3.0.0"), "0/from", "migration_not_below"),
        ("0/from", json!("<=3.0.0"), "0/from", "migration_not_below"),
        ("0/from", json!(">=1.0.0"), "0/from", "migration_not_below"),
        ("0/from", json!(">=2.0.0 <1.0.0"), "0/from", "min_above_max"),
        ("0/from", json!("^1.2"), "0/from", "invalid_version"),
        ("0/remove/0", json!("model_name"), "0/remove/0", "migration_conflict"),
        ("0/remove/1", json!("legacy"), "0/remove/1", "migration_conflict"),
        ("0/rename", json!({"a": "a"}), "0/rename/a", "migration_conflict"),
        ("0/rename", json!({"a": "model", "b": "model"}), "0/rename/b", "migration_conflict"),
        ("0/rename", json!({"model": "mode", "mode": "model"}), "0/rename/model", "migration_conflict"),
        ("0/rename", json!({"model_name": "modle"}), "0/rename/model_name", "unknown_reference"),
        ("0/rename", json!({"Bad-Name": "model_id"}), "0/rename/Bad-Name", "invalid_value"),
        ("0/rename", json!({"model_name": "Bad-Name"}), "0/rename/model_name", "invalid_value"),
        ("1/set", json!({"mode": "hbu"}), "1/set/mode", "invalid_value"),
        ("1/set", json!({"context": 0}), "1/set/context", "out_of_range"),
        ("1/set", json!({"context": null}), "1/set/context", "wrong_type"),
        ("1/set", json!({"lost": 1}), "1/set/lost", "unknown_reference"),
        ("0", json!({"from": "<2.0.0"}), "0", "missing_field"),
    ] {
        let found = faults(&with(chat(), &format!("/migrations/{pointer}"), value.clone()));
        assert!(found.contains(&(format!("/migrations/{at}"), code)), "{pointer} = {value}: {found:?}");
    }
    // A later step that is not taken for every version of the first does not save its name.
    let late = with(chat(), "/migrations/1/from", json!(">=1.0.0 <3.0.0"));
    assert_eq!(faults(&late), [("/migrations/0/rename/model_name".to_owned(), "unknown_reference")]);
    // What the platform computes is nobody's value.
    let computed =
        with(chat(), "/parameters/mode", json!({"type": "string", "owner": "platform", "value": "'x'"}));
    assert_eq!(faults(&computed), [("/migrations/1/set/mode".to_owned(), "unknown_reference")]);
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-f]"
}

/// Each name at most once, since a step that says more is refused.
fn any_step() -> impl Strategy<Value = Value> {
    let from = prop::sample::select(vec!["<2", "<3", "1.5", ">=1 <2", "<=2.5", ">1 <3"]);
    let names = Just(["a", "b", "c", "d", "e", "f"].to_vec()).prop_shuffle();
    (from, names, 1_u8..8, 0..9_i64).prop_map(|(from, names, parts, value)| {
        let mut step = json!({"from": from});
        if parts & 1 != 0 {
            step["rename"] = json!({names[0]: names[1]});
        }
        if parts & 2 != 0 {
            step["remove"] = json!([names[2]]);
        }
        if parts & 4 != 0 {
            step["set"] = json!({names[3]: value});
        }
        step
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::default() })]

    /// H-04: of any steps that may be registered. What comes out are parameters of the manifest and values that no step spoke
    /// of; taking the result over again at this version changes nothing; a version that no step is for is left alone.
    #[test]
    fn any_values_end_as_parameters_or_stay_untouched(
        parameters in prop::collection::btree_set(any_name(), 3..7),
        steps in prop::collection::vec(any_step(), 0..4),
        from in prop::sample::select(vec!["0.9", "1.5", "2", "2.7", "3.0.0", "4"]),
        values in prop::collection::btree_map(any_name(), 0..9_i64, 0..6),
    ) {
        let parameters: Map<String, Value> =
            parameters.iter().map(|name| (name.clone(), json!({"type": "integer"}))).collect();
        let document = app(Value::Object(parameters), json!(steps));
        prop_assume!(faults(&document).is_empty());
        let manifest = manifest(&document);
        let from = Version::parse(from).unwrap();
        let values: Map<String, Value> = values.into_iter().map(|(name, value)| (name, json!(value))).collect();
        let taken: Vec<&Migration> = manifest.migrations.iter().filter(|step| step.from.covers(&from)).collect();
        let Ok(result) = migrate(&values, &from, &manifest) else {
            prop_assert!(taken.iter().any(|step| !step.rename.is_empty()), "only a new name can be in the way");
            return Ok(());
        };
        if taken.is_empty() {
            prop_assert_eq!(&result, &values);
        }
        let spoken_of = |name: &str| taken.iter().any(|step| step.names().iter().any(|(_, one)| *one == name));
        for (name, value) in &result {
            let is_untouched = values.get(name) == Some(value) && !spoken_of(name);
            prop_assert!(manifest.parameters.contains_key(name) || is_untouched, "{name}");
        }
        for (name, value) in values.iter().filter(|(name, _)| !spoken_of(name)) {
            prop_assert_eq!(result.get(name), Some(value), "nothing is lost");
        }
        prop_assert_eq!(&migrate(&result, &manifest.version, &manifest).unwrap(), &result);
    }
}
