//! What everything of ours carries, so that a restart needs no memory.

use std::collections::HashMap;

use uuid::Uuid;

pub const NODE: &str = "gpuaas.node";
pub const INSTANCE: &str = "gpuaas.instance";
pub const COMPONENT: &str = "gpuaas.component";
pub const GENERATION: &str = "gpuaas.generation";
pub const ORDER: &str = "gpuaas.order";
pub const ERA: &str = "gpuaas.era";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub node: Uuid,
    pub instance: Uuid,
    /// Only containers are of one component.
    pub component: Option<String>,
    pub generation: u64,
    pub era: u64,
    /// The digest of the order that made it.
    pub order: String,
}

impl Labels {
    pub fn to_map(&self) -> HashMap<String, String> {
        let mut map = HashMap::from([
            (NODE.to_owned(), self.node.to_string()),
            (INSTANCE.to_owned(), self.instance.to_string()),
            (GENERATION.to_owned(), self.generation.to_string()),
            (ERA.to_owned(), self.era.to_string()),
            (ORDER.to_owned(), self.order.clone()),
        ]);
        if let Some(component) = &self.component {
            map.insert(COMPONENT.to_owned(), component.clone());
        }
        map
    }

    /// `None` where node or instance are missing or no ids: not ours. The rest is read as far as it can be.
    pub fn from_map(map: &HashMap<String, String>) -> Option<Self> {
        let id = |key: &str| map.get(key).and_then(|text| Uuid::try_parse(text).ok());
        let number = |key: &str| map.get(key).and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(Self {
            node: id(NODE)?,
            instance: id(INSTANCE)?,
            component: map.get(COMPONENT).cloned(),
            generation: number(GENERATION),
            era: number(ERA),
            order: map.get(ORDER).cloned().unwrap_or_default(),
        })
    }

    /// Made by this very order. The era does not count: a restore of the control plane's database must not restart
    /// what it finds running.
    pub fn is_of(&self, generation: u64, order: &str) -> bool {
        self.generation == generation && self.order == order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_written_and_strangers_are_not_ours() {
        let labels = Labels {
            node: Uuid::from_u128(1),
            instance: Uuid::from_u128(2),
            component: Some("main".to_owned()),
            generation: 7,
            era: 3,
            order: "sha256:00".to_owned(),
        };
        assert_eq!(Labels::from_map(&labels.to_map()), Some(labels.clone()));
        let mut stranger = labels.to_map();
        stranger.remove(NODE);
        assert_eq!(Labels::from_map(&stranger), None);
        stranger.insert(NODE.to_owned(), "not-an-id".to_owned());
        assert_eq!(Labels::from_map(&stranger), None);
    }
}
