//! Volumes and what holds them.

use gpuaas_api::volumes::{Attachment, Volume, VolumeDetail};

use super::{Facts, Row, dash, short, yes};
use crate::units;

impl Row for Volume {
    const TITLES: &'static [&'static str] = &["NAME", "STATE", "MEANT FOR", "NODE", "CREATED", "ID"];
    const EMPTY: &'static str =
        "No volumes. Create one with `gpuaas volume create NAME --allocation ALLOCATION`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.state.name().into(),
            dash(self.size_mib.map(units::mib)),
            self.node_id.to_string(),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Facts for Volume {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("name", self.name.clone()),
            ("id", self.id.to_string()),
            ("state", self.state.name().into()),
            ("meant for", dash(self.size_mib.map(units::mib))),
            ("node", self.node_id.to_string()),
            ("created by", format!("{} {}", self.created_by_kind, self.created_by_id)),
            ("created", short(self.created_at)),
        ];
        facts.extend(self.problem.clone().map(|problem| ("waits", problem)));
        let moments = [("deleting since", self.deleting_at), ("ended", self.ended_at)];
        facts.extend(moments.into_iter().filter_map(|(name, at)| Some((name, short(at?)))));
        facts
    }
}

impl Facts for VolumeDetail {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.volume.facts();
        for fact in &mut facts {
            if fact.0 == "node" {
                let away = if self.node_connected { "" } else { " (away)" };
                fact.1 = format!("{}{away}, {}", self.node_name, self.volume.node_id);
            }
        }
        if self.receipt.is_some() {
            facts.push(("attested", "its node looked and found nothing left".into()));
        }
        facts
    }
}

pub(crate) const ATTACHMENT_TITLES: &[&str] = &["HELD BY", "AT", "READ ONLY", "SINCE", "INSTANCE"];

pub(crate) fn attachment_cells(held: &Attachment) -> Vec<String> {
    vec![
        held.instance_name.clone(),
        held.mount.clone(),
        yes(held.read_only),
        short(held.held_at),
        held.instance_id.to_string(),
    ]
}
