//! The published schema says something about everything, and the page is made of it.

use serde_json::{Value, json};

use super::super::examples::{self, EXAMPLES, WHOLE};
use super::super::*;

/// Every block, and every branch of one, with its name.
fn blocks(schema: &Value) -> Vec<(String, &Value)> {
    let mut all = vec![(WHOLE.to_owned(), schema)];
    for (name, of) in schema["$defs"].as_object().unwrap() {
        all.push((name.clone(), of));
        let branches = of["oneOf"].as_array().into_iter().flatten().enumerate();
        all.extend(branches.map(|(index, branch)| (format!("{name}/{index}"), branch)));
    }
    all
}

/// an editor has words for every block, field and value it offers.
#[test]
fn no_block_and_no_field_lacks_a_description() {
    let schema = json_schema();
    let is_said = |of: &Value| of["description"].as_str().is_some_and(|text| text.ends_with('.'));
    let mut silent = Vec::new();
    for (name, of) in blocks(&schema) {
        if !is_said(of) {
            silent.push(name.clone());
        }
        for (field, about) in of["properties"].as_object().into_iter().flatten() {
            // What tells branches apart is said by the branch.
            if about.get("const").is_none() && !is_said(about) {
                silent.push(format!("{name}.{field}"));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new(), "give them a doc comment that is a sentence");
}

/// each is what its block takes, and says nothing that another check would refuse.
#[test]
fn every_block_has_an_example_and_every_example_is_good() {
    let schema = json_schema();
    for (name, of) in schema["$defs"].as_object().unwrap() {
        let is_union =
            of["oneOf"].as_array().is_some_and(|all| all.iter().all(|one| one["type"] == "object"));
        if of["type"] == "object" || is_union {
            assert!(examples::of(name).next().is_some(), "{name} needs an example in examples.rs");
            assert_eq!(of["examples"][0], examples::of(name).next().unwrap().value, "{name}");
        }
    }
    for example in EXAMPLES.iter() {
        if example.of == WHOLE {
            let document = parse(example.yaml.as_bytes(), Format::Yaml).unwrap();
            assert_eq!(lint(&document.manifest, None), [], "{}", example.yaml);
            assert_eq!(advise(&document.manifest), [], "{}", example.yaml);
            continue;
        }
        let mut of = schema["$defs"][example.of].clone();
        assert!(of.is_object(), "{} is no block", example.of);
        of["$defs"] = schema["$defs"].clone();
        assert_eq!(super::super::walk::faults(&example.value, &of), [], "{}: {}", example.of, example.yaml);
    }
    assert_eq!(schema["examples"][0]["slug"], json!("chat"));
}

/// the page that people read is made of the schema of this build.
#[test]
fn the_reference_page_is_of_this_schema() {
    let page = include_str!("../../../../../docs/reference/manifest.md");
    assert!(page == reference(), "run `cargo xtask gen`");
    let schema = json_schema();
    for (name, of) in blocks(&schema) {
        for field in of["properties"].as_object().into_iter().flatten().map(|(field, _)| field) {
            assert!(
                page.contains(&format!("`{field}`")) || page.contains(&format!("`{field}: ")),
                "{name}.{field}"
            );
        }
    }
}
