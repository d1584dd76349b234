//! Laws that hold for any manifest and any values.

use crate::launch_form::resolution::Around;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        (-3_i64..9).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        "[a-c]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-z_]{1,6}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A parameter of any kind with bounds that can be met, and nothing that another kind has.
fn any_parameter() -> impl Strategy<Value = Value> {
    let meta = (any::<bool>(), prop::option::of("[A-Za-z][a-z]{0,8}"), any::<bool>());
    let kind = prop_oneof![
        (0_u32..3, 3_u32..9)
            .prop_map(|(least, most)| json!({"type": "string", "min_length": least, "max_length": most})),
        Just(json!({"type": "string", "enum": ["a", "b"], "default": "b"})),
        Just(json!({"type": "string", "pattern": "^[a-c]*$", "default": "abc"})),
        Just(json!({"type": "string", "format": "model_name"})),
        (-3_i64..0, 0_i64..9).prop_map(
            |(least, most)| json!({"type": "integer", "minimum": least, "maximum": most, "default": 0})
        ),
        Just(json!({"type": "number", "minimum": -0.5})),
        any::<bool>().prop_map(|on| json!({"type": "boolean", "default": on})),
        Just(
            json!({"type": "array", "items": {"type": "string", "max_length": 4}, "max_items": 3, "default": ["a"]})
        ),
        Just(json!({"type": "array", "items": {"type": "integer", "enum": [1, 2]}})),
        Just(json!({"type": "secret_ref"})),
        Just(json!({"type": "integer", "owner": "platform", "value": "resources.gpu_count"})),
    ];
    (kind, meta).prop_map(|(mut parameter, (required, title, described))| {
        parameter["required"] = json!(required);
        if let Some(title) = title {
            parameter["title"] = json!(title);
        }
        if described {
            parameter["description"] = json!("What it is.");
        }
        parameter
    })
}

fn any_parameters() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("p[a-z_0-9]{0,8}", any_parameter(), 0..8)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn any_hints(names: &[String]) -> impl Strategy<Value = Value> + use<> {
    let some = || prop::sample::subsequence(names.to_vec(), 0..=names.len()).prop_shuffle();
    (some(), some(), some()).prop_map(|(order, group, fields)| {
        let hint = |name: String| (name, json!({
            "widget": "text", "help": "Help.", "warning": "Careful.", "when": "resources.gpu_count > 100",
            "warnings": [{"when": "resources.gpu_count < 100", "message": "Few."}]
        }));
        json!({
            "order": order,
            "groups": [{"title": "One", "parameters": group}],
            "fields": fields.into_iter().map(hint).collect::<Map<_, _>>()
        })
    })
}

/// A manifest with any parameters and hints about some of them.
fn any_manifest() -> impl Strategy<Value = Value> {
    any_parameters().prop_flat_map(|parameters| {
        let names: Vec<String> = parameters.as_object().unwrap().keys().cloned().collect();
        (Just(parameters), any_hints(&names)).prop_map(|(parameters, hints)| {
            let mut document = with_parameters(parameters);
            document["ui_hints"] = hints;
            document
        })
    })
}

fn given(scene: &Scene, picks: &[(prop::sample::Index, Value)]) -> Value {
    let mut names: Vec<String> = scene.manifest.parameters.keys().cloned().collect();
    names.push("stranger".to_owned());
    Value::Object(picks.iter().map(|(at, value)| (at.get(&names).clone(), value.clone())).collect())
}

/// What a POSIX shell makes of a line that has no expansions outside of quotes.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut open, mut characters) = (Vec::new(), String::new(), false, line.chars());
    while let Some(c) = characters.next() {
        match c {
            '\'' => {
                open = true;
                word.extend(characters.by_ref().take_while(|c| *c != '\''));
            }
            '\\' => word.extend(characters.next()),
            ' ' => {
                words.push(std::mem::take(&mut word));
                open = false;
            }
            '$' | '`' | '"' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '~' | '#' | '\n' => {
                panic!("{c:?} stands bare in {line}")
            }
            c => word.push(c),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// As the command line reads a setting.
fn settings(line: &str) -> Map<String, Value> {
    let words = shell_words(line);
    let set = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| *option == "--set");
    set.map(|(_, setting)| {
        let (name, value) = setting.split_once('=').expect("name=value");
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        (name.to_owned(), value)
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// B-02, B-03: any manifest has a form with a field for each parameter; hints put them in order and change nothing else,
    /// and without any the fields stand in the order of their names.
    #[test]
    fn any_manifest_has_a_field_for_each_parameter(document in any_manifest()) {
        let form = Scene::of(&document).form(&Wanted::default());
        let names: Vec<&String> = document["parameters"].as_object().unwrap().keys().collect();
        let fields: Vec<&String> = form.schema["properties"].as_object().unwrap().keys().collect();
        prop_assert_eq!(&fields, &names);
        if let Some(order) = form.ui_schema.get("ui:order") {
            let mut order: Vec<&str> = order.as_array().unwrap().iter().filter_map(Value::as_str).collect();
            order.sort_unstable();
            prop_assert_eq!(order, names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), "each once");
        }
        let mut bare = document.clone();
        bare.as_object_mut().unwrap().remove("ui_hints");
        let plain = Scene::of(&bare).form(&Wanted::default());
        prop_assert!(plain.ui_schema.is_empty());
        prop_assert_eq!(Form { ui_schema: form.ui_schema.clone(), ..plain }, form);
    }

    /// B-01: any values are judged; those that pass pass again, unchanged, and the form can be launched exactly if a plan of
    /// the same succeeds.
    #[test]
    fn any_values_are_judged_alike_by_form_and_plan(
        document in any_manifest(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 0..6),
    ) {
        let scene = Scene::of(&document);
        let wanted = wanting(given(&scene, &picks));
        let (form, choices) = scene.try_form(&wanted).unwrap();
        for error in &form.errors {
            prop_assert!(error.path.starts_with("/values/"), "{error:?}");
        }
        let plan = scene.plan(1, &wanted.wish);
        prop_assert_eq!(form.launchable, plan.is_ok(), "{:?} {:?}", form.errors, plan.err());
        let resolved = resolution::resolve(&scene.manifest, &wanted.wish.values, Around::default());
        if resolved.faults.is_empty() {
            let again = resolution::resolve(&scene.manifest, &resolved.values, Around::default());
            prop_assert_eq!(&again.values, &resolved.values);
            prop_assert_eq!(again.faults, Vec::new());
            // The short request means the same.
            let short = resolution::resolve(&scene.manifest, &choices.values, Around::default());
            prop_assert_eq!(&short.values, &resolved.values);
        }
    }

    /// P-01: the command says exactly the choices, whatever is in them, and hides nothing from who reads it.
    #[test]
    fn the_command_reads_back_as_the_choices(
        document in any_manifest(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 0..6),
    ) {
        let scene = Scene::of(&document);
        let (form, choices) = scene.try_form(&wanting(given(&scene, &picks))).unwrap();
        prop_assert_eq!(settings(&form.command), choices.values);
        prop_assert!(!form.command.chars().any(crate::text::is_deceptive), "{:?}", form.command);
    }
}
