//! Laws that hold for any input.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::chart::charted;
use super::{composition, registries, sample};

pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("${params.x}")),
        Just(json!("nvidia")),
        Just(json!(8888)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map("[a-z_]{1,12}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

pub(super) fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), all));
        }
        Value::Object(map) => map.iter().for_each(|(key, item)| pointers(item, &format!("{at}/{key}"), all)),
        _ => {}
    }
}

proptest! {
    ///
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in [Format::Json, Format::Yaml, Format::Guess] {
            let _ = parse(&bytes, format);
        }
    }

    #[test]
    fn any_text_like_yaml_is_read_or_refused(text in "[a-c:\\-\\[\\]{},&*!?|>'\"#%@ \n\t0-9.~]{0,200}") {
        let _ = parse(text.as_bytes(), Format::Yaml);
    }

    /// what passes the walk is of the type, and every fault has a place in or beside the document.
    #[test]
    fn any_change_is_judged_with_a_place(which in 0..3_usize, at in any::<prop::sample::Index>(), new in any_json()) {
        let mut document = [sample as fn() -> Value, composition, charted][which]();
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        *document.pointer_mut(at.get(&all[..]).as_str()).unwrap() = new;
        match check(document.to_string().as_bytes(), Format::Json, &registries()) {
            Ok(read) => {
                let again = parse(read.canonical().as_bytes(), Format::Json).unwrap();
                prop_assert_eq!(again.canonical(), read.canonical());
                prop_assert_eq!(again.digest(), read.digest());
                let _ = read.manifest.expand();
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    prop_assert!(fault.path.starts_with('/'));
                    prop_assert!(fault.message != "The document does not fit the schema.", "{fault:?}");
                }
            }
        }
    }

    /// The canonical text does not depend on the order of keys.
    #[test]
    fn canonical_text_is_stable(value in any_json()) {
        let text = canonical(&value);
        let again: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(canonical(&again), text);
    }
}
