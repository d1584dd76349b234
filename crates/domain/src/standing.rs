//! The life of a tenant, a project or a person: active → suspended → deleting → tombstone.
//!
//! A tombstone keeps the id (and a slug stays taken for ever) so that audit rows and ledgers stay readable;
//! what was personal is gone.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Active,
    Suspended,
    Deleting,
    Tombstone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Suspend,
    Resume,
    Delete,
    /// Only the platform's own reconciler makes this one, after everything inside is gone.
    Erase,
}

impl Standing {
    pub const ALL: [Self; 4] = [Self::Active, Self::Suspended, Self::Deleting, Self::Tombstone];

    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deleting => "deleting",
            Self::Tombstone => "tombstone",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standing| standing.name() == name)
    }

    /// Where a move leads, or why it is refused. Repeating a move that has happened is refused too: the caller
    /// learns that nothing changed.
    pub fn after(self, step: Move) -> Result<Self> {
        match (self, step) {
            (Self::Active, Move::Suspend) => Ok(Self::Suspended),
            (Self::Suspended, Move::Resume) => Ok(Self::Active),
            (Self::Active | Self::Suspended, Move::Delete) => Ok(Self::Deleting),
            (Self::Deleting, Move::Erase) => Ok(Self::Tombstone),
            (from, _) => Err(Error::conflict(
                "illegal_state_move",
                format!("This cannot be done while the state is {}.", from.name()),
            )
            .with_param("state", from.name())),
        }
    }

    pub fn is_active(self) -> bool {
        self == Self::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_tombstone_and_nothing_skips_deleting() {
        for step in [Move::Suspend, Move::Resume, Move::Delete, Move::Erase] {
            assert!(Standing::Tombstone.after(step).is_err());
            assert_ne!(Standing::Active.after(step).ok(), Some(Standing::Tombstone));
        }
        assert_eq!(Standing::Deleting.after(Move::Erase).unwrap(), Standing::Tombstone);
        assert!(Standing::Deleting.after(Move::Resume).is_err());
    }
}
