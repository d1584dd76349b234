//! Every generated file of the repository, and whether it is up to date.
//!
//! The files are checked in, because people read them without building; `gen --check` keeps them true.

use std::path::Path;

use serde_json::{Map, Value};

use crate::{Result, cli_reference, error_codes, read, reference};

struct Generated {
    path: &'static str,
    text: String,
}

fn all(root: &Path) -> Result<Vec<Generated>> {
    Ok(vec![
        Generated { path: "docs/api/openapi.json", text: pretty(&gpuaas_server::contract::openapi()) },
        Generated { path: "docs/api/asyncapi.json", text: pretty(&gpuaas_server::contract::asyncapi()) },
        Generated {
            path: "docs/architecture/schemas/launchable_oci_workload_profile.v1.schema.json",
            text: pretty(&gpuaas_domain::manifest::json_schema()),
        },
        Generated { path: "docs/reference/manifest.md", text: gpuaas_domain::manifest::reference() },
        Generated { path: "docs/reference/config.md", text: gpuaas_server::config::reference() },
        Generated { path: "docs/reference/cli.md", text: cli_reference::render(gpuaas_cli::command()) },
        Generated { path: "docs/reference/permissions.md", text: reference::permissions() },
        Generated { path: "docs/reference/routes.md", text: reference::routes() },
        Generated { path: "docs/errors/README.md", text: reference::errors(root)? },
        Generated { path: "docs/reasons/README.md", text: reference::reasons() },
    ])
}

pub(crate) fn write(root: &Path) -> Result {
    for file in all(root)? {
        let path = root.join(file.path);
        if read(&path).is_ok_and(|old| old == file.text) {
            println!("same   {}", file.path);
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        std::fs::write(&path, &file.text).map_err(|error| format!("cannot write {}: {error}", file.path))?;
        println!("wrote  {}", file.path);
    }
    for code in error_codes::without_page(root)? {
        println!("to do  docs/errors/{code}.md: write the page of this error code");
    }
    for fault in reference::reason_faults(root)? {
        println!("to do  {fault}");
    }
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result {
    let files = all(root)?;
    let mut differ: Vec<String> = files
        .iter()
        .filter_map(|file| match read(&root.join(file.path)) {
            Ok(old) if old == file.text => None,
            Ok(old) => {
                Some(format!("{} differs from line {} on", file.path, first_difference(&old, &file.text)))
            }
            Err(_) => Some(format!("{} is missing", file.path)),
        })
        .collect();
    let codes = error_codes::without_page(root)?;
    differ.extend(
        codes.iter().map(|code| format!("docs/errors/{code}.md is missing: the code needs its page")),
    );
    differ.extend(reference::reason_faults(root)?);
    if differ.is_empty() {
        println!("gen: {} files are up to date", files.len());
        return Ok(());
    }
    Err(format!(
        "run `cargo xtask gen`, write what it cannot, and commit the result:\n  {}",
        differ.join("\n  ")
    ))
}

fn first_difference(old: &str, new: &str) -> usize {
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    same + 1
}

/// Keys sorted, so that the file does not depend on which features of `serde_json` a build has switched on.
fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(&sorted(value)).expect("a JSON value can be written");
    text.push('\n');
    text
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            Value::Object(keys.into_iter().map(|key| (key.clone(), sorted(&map[key]))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_different_line_is_counted_from_one() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), 2);
        assert_eq!(first_difference("a\n", "a\nb\n"), 2);
    }

    #[test]
    fn json_is_written_with_sorted_keys() {
        assert_eq!(pretty(&json!({"b": [{"d": 1, "c": 2}], "a": null})).find("\"a\""), Some(4));
    }
}
