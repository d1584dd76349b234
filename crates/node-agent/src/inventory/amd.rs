//! `amd-smi`, and its predecessor `rocm-smi` where that is all there is.

use gpuaas_agent_protocol::inventory::{Gpu, Vendor};
use serde_json::Value;

use super::tool::{Said, Tools};
use super::{Found, present};

const ROCM_QUERY: &[&str] = &[
    "--showproductname",
    "--showuniqueid",
    "--showmeminfo",
    "vram",
    "--showbus",
    "--showdriverversion",
    "--json",
];

pub(super) async fn discover(tools: &Tools) -> Found {
    let mut found = Found::default();
    if let Some(tool) = tools.find("amd-smi") {
        let list = tools.run(&tool, &["list", "--json"]).await;
        let about = tools.run(&tool, &["static", "--json"]).await;
        match (list, about) {
            (Ok(list), Ok(about)) => found.add(parse_amd_smi(&list, &about)),
            (Err(why), _) | (_, Err(why)) => found.add(Found::warning(why)),
        }
    }
    if found.gpus.is_empty()
        && let Some(tool) = tools.find("rocm-smi")
    {
        match tools.run(&tool, ROCM_QUERY).await {
            Ok(said) => found.add(parse_rocm_smi(&said)),
            Err(why) => found.add(Found::warning(why)),
        }
    }
    found
}

/// The JSON in what a tool said; warnings may stand before it.
fn json(said: &Said) -> Option<Value> {
    let start = said.stdout.find(['{', '['])?;
    let mut values = serde_json::Deserializer::from_str(&said.stdout[start..]).into_iter::<Value>();
    values.next()?.ok()
}

/// A list, or a list inside an object (`gpu_data`), depending on the version.
fn entries(value: &Value) -> Vec<&Value> {
    let list = match value {
        Value::Array(list) => Some(list),
        Value::Object(members) => members.values().find_map(Value::as_array),
        _ => None,
    };
    list.map(|list| list.iter().filter(|entry| entry.is_object()).collect()).unwrap_or_default()
}

/// A member whatever the case of its name: versions differ in it.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let members = value.as_object()?;
    members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => present(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn first(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| text(member(value, name)))
}

fn number(value: Option<&Value>) -> Option<u32> {
    text(value)?.parse().ok()
}

pub(super) fn parse_amd_smi(list: &Said, about: &Said) -> Found {
    let (Some(listed), Some(described)) = (json(list), json(about)) else {
        let worse = if json(list).is_none() { list } else { about };
        return Found::warning(format!("amd-smi {}: {}", worse.ending(), worse.first_line()));
    };
    let described = entries(&described);
    let mut found = Found::default();
    for entry in entries(&listed) {
        let Some(index) = number(member(entry, "gpu")) else { continue };
        let about = described.iter().find(|about| number(member(about, "gpu")) == Some(index));
        let part = |name: &str| about.and_then(|about| member(about, name)).unwrap_or(&Value::Null);
        let bus_id = first(entry, &["bdf"]).or_else(|| first(part("bus"), &["bdf"]));
        found.push(Gpu {
            index,
            uuid: first(entry, &["uuid"]).or_else(|| by_bus(bus_id.as_deref())).unwrap_or_default(),
            vendor: Vendor::Amd,
            model: first(part("asic"), &["market_name", "name"]).unwrap_or_else(|| "AMD GPU".to_owned()),
            memory_mib: member(part("vram"), "size").and_then(mebibytes).unwrap_or(0),
            bus_id,
            driver_version: first(part("driver"), &["version", "driver_version"]),
            simulated: false,
        });
    }
    if found.gpus.is_empty() && found.warnings.is_empty() {
        found.warnings.push("amd-smi lists no GPU.".to_owned());
    }
    found
}

/// `196592`, `"196592 MB"` or `{"value": 196592, "unit": "MB"}`; the tool counts in binary units.
fn mebibytes(size: &Value) -> Option<u32> {
    let (amount, unit) = match size {
        Value::Number(number) => (number.as_f64()?, "MB".to_owned()),
        Value::String(text) => {
            let text = text.trim();
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            (text[..end].parse().ok()?, text[end..].trim().to_owned())
        }
        Value::Object(_) => {
            let value = text(member(size, "value"))?;
            (value.parse().ok()?, text(member(size, "unit")).unwrap_or_default())
        }
        _ => return None,
    };
    let factor = match unit.to_ascii_uppercase().as_str() {
        "" | "MB" | "MIB" => 1.0,
        "GB" | "GIB" => 1024.0,
        "KB" | "KIB" => 1.0 / 1024.0,
        "B" => 1.0 / (1024.0 * 1024.0),
        _ => return None,
    };
    let mebibytes = amount * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on this line"
    )]
    (0.0..=f64::from(u32::MAX)).contains(&mebibytes).then_some(mebibytes as u32)
}

/// Exits 0 even without a driver: the JSON is what counts.
pub(super) fn parse_rocm_smi(said: &Said) -> Found {
    let Some(Value::Object(cards)) = json(said) else {
        return Found::warning(format!("rocm-smi {}: {}", said.ending(), said.first_line()));
    };
    let driver = cards
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("system"))
        .and_then(|(_, system)| first(system, &["Driver version"]));
    let mut found = Found::default();
    for (name, card) in &cards {
        let Some(index) = name.strip_prefix("card").and_then(|digits| digits.parse().ok()) else { continue };
        let bus_id = first(card, &["PCI Bus"]);
        let bytes: u64 =
            first(card, &["VRAM Total Memory (B)"]).and_then(|text| text.parse().ok()).unwrap_or(0);
        found.push(Gpu {
            index,
            uuid: first(card, &["Unique ID"]).or_else(|| by_bus(bus_id.as_deref())).unwrap_or_default(),
            vendor: Vendor::Amd,
            model: first(card, &["Card Series", "Card Model"]).unwrap_or_else(|| "AMD GPU".to_owned()),
            memory_mib: u32::try_from(bytes / (1024 * 1024)).unwrap_or(u32::MAX),
            bus_id,
            driver_version: driver.clone(),
            simulated: false,
        });
    }
    found.gpus.sort_by_key(|gpu| gpu.index);
    if found.gpus.is_empty() && found.warnings.is_empty() {
        found.warnings.push("rocm-smi lists no card.".to_owned());
    }
    found
}

/// Consumer cards have no id of their own: their place on the bus is the next most stable thing.
fn by_bus(bus_id: Option<&str>) -> Option<String> {
    Some(format!("PCI-{}", bus_id?))
}
