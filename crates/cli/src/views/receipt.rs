//! The proof that nothing is left, in words.

use std::collections::BTreeMap;

use gpuaas_api::instances::{InstanceDetail, ReceiptView, StoredReceipt};
use gpuaas_domain::Timestamp;
use serde::Deserialize;

use super::{dash, short, simulated};

/// What a node attested. Read leniently: the text was signed by a node, perhaps a newer one, and is shown rather than
/// judged.
#[derive(Deserialize)]
pub(crate) struct Attested {
    #[serde(default)]
    pub(crate) removed: Vec<Removed>,
    #[serde(default)]
    pub(crate) left: BTreeMap<String, u64>,
    #[serde(default)]
    volumes_kept: Vec<String>,
    checked_at: Option<i64>,
    #[serde(default)]
    simulated: bool,
}

#[derive(Deserialize)]
pub(crate) struct Removed {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Attested {
    /// `None` where nobody looked, or where the text cannot be read.
    pub(crate) fn read(receipt: &StoredReceipt) -> Option<Self> {
        if !receipt.attested {
            return None;
        }
        serde_json::from_str(&receipt.payload).ok()
    }

    fn leftovers(&self) -> Vec<String> {
        let found = self.left.iter().filter(|(_, count)| **count > 0);
        found.map(|(kind, count)| format!("{count} {}", kind.replace('_', " "))).collect()
    }
}

/// Facts, then what has to be said aloud. `seen` is the instance the receipt is about, where it can be had: it knows
/// its node's name, and whether the node was made up where nobody attested anything.
pub(crate) fn facts(
    kept: &ReceiptView,
    seen: Option<&InstanceDetail>,
) -> (Vec<(&'static str, String)>, Vec<String>) {
    let receipt = &kept.receipt;
    let attested = Attested::read(receipt);
    let made_up =
        attested.as_ref().is_some_and(|told| told.simulated) || seen.is_some_and(|seen| seen.simulated);
    let node = seen
        .map(|seen| seen.node_name.as_str())
        .filter(|name| !name.is_empty())
        .map_or_else(|| receipt.node_id.to_string(), |name| format!("{name}, {}", receipt.node_id));
    let node = simulated(node, made_up);
    let mut facts = vec![("instance", receipt.instance_id.to_string())];
    let mut aloud = Vec::new();
    if let Some(told) = &attested {
        facts.push(("attested by", format!("node {node}")));
        let at = told.checked_at.and_then(Timestamp::from_unix_micros);
        facts.push(("looked at", dash(at.map(short))));
        let looked: Vec<_> = told.left.keys().map(|kind| kind.replace('_', " ")).collect();
        let left = told.leftovers();
        if left.is_empty() && !looked.is_empty() {
            facts.push(("left", format!("nothing: looked for {}", looked.join(", "))));
        } else {
            let what =
                if looked.is_empty() { "the receipt does not say".to_owned() } else { left.join(", ") };
            aloud.push(format!("This receipt does not show that nothing is left: {what}."));
            facts.push(("left", what));
        }
        facts.extend(told.volumes_kept.iter().map(|id| ("volume kept", id.clone())));
    } else {
        let why = if receipt.attested { "the receipt's text cannot be read" } else { "nobody looked" };
        facts.push(("attested by", format!("NOBODY: {why}")));
        facts.push(("node", node));
        facts.push(("left", "UNKNOWN".into()));
        aloud.push(format!(
            "NOT ATTESTED: {why}, so nothing proves that this instance left nothing behind on its node."
        ));
    }
    facts.extend(receipt.reason.clone().map(|reason| ("ended without the node because", reason)));
    let key = kept.node_public_key.as_deref().unwrap_or("unknown");
    let signature = match (&receipt.signature, kept.is_signed()) {
        (None, _) => "NONE".to_owned(),
        (Some(_), Some(true)) => format!("valid, checked here with the node's key {key}"),
        (Some(_), Some(false)) => {
            aloud.push(format!("The signature of this receipt does NOT hold under the node's key {key}."));
            "INVALID".to_owned()
        }
        (Some(_), None) => "present, but not checked: the node's key is not known".to_owned(),
    };
    facts.push(("signature", signature));
    facts.push(("kept", short(receipt.created_at)));
    (facts, aloud)
}

pub(crate) const REMOVED_TITLES: &[&str] = &["REMOVED", "NAME"];

pub(crate) fn removed_rows(receipt: &StoredReceipt) -> Vec<Vec<String>> {
    let removed = Attested::read(receipt).map_or_else(Vec::new, |told| told.removed);
    removed.into_iter().map(|one| vec![one.kind, one.name]).collect()
}
