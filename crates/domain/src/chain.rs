//! The hash chain over events and audit rows.
//!
//! A link's hash covers the link before it and every column of its row, each with its length in front, so that no
//! two different rows give the same bytes. Changing, removing, inserting or reordering any row breaks the chain
//! at that row. What a chain alone cannot show is a cut at its end: keep the head that `audit verify` prints
//! somewhere else and compare.

use ring::digest::{Context, SHA256};

use crate::event::{AuditRow, EventRow};

pub type Hash = [u8; 32];

/// What stands before the first link.
pub const GENESIS: Hash = [0; 32];

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Audit,
    Events,
}

impl Stream {
    pub const ALL: [Self; 2] = [Self::Audit, Self::Events];

    pub fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Events => "events",
        }
    }
}

struct Hasher(Context);

impl Hasher {
    fn start(previous: &Hash, stream: Stream, sequence: i64) -> Self {
        let mut hasher = Self(Context::new(&SHA256));
        hasher.bytes(previous);
        hasher.bytes(stream.name().as_bytes());
        hasher.bytes(&sequence.to_be_bytes());
        hasher
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Absent and empty differ.
    fn maybe(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.0.update(&[0]),
            Some(bytes) => {
                self.0.update(&[1]);
                self.bytes(bytes);
            }
        }
    }

    fn finish(self) -> Hash {
        self.0.finish().as_ref().try_into().expect("SHA-256 gives 32 bytes")
    }
}

pub fn audit_link(previous: &Hash, sequence: i64, row: &AuditRow) -> Hash {
    let mut hasher = Hasher::start(previous, Stream::Audit, sequence);
    hasher.bytes(row.id.uuid().as_bytes());
    hasher.bytes(&row.at.unix_micros().to_be_bytes());
    scope(&mut hasher, row.scope);
    for text in [
        &row.actor_kind,
        &row.actor_id,
        &row.action,
        &row.outcome.name().to_owned(),
        &row.object_kind,
        &row.object_id,
    ] {
        hasher.text(text);
    }
    for text in [&row.before, &row.after, &row.reason] {
        hasher.maybe(text.as_ref().map(String::as_bytes));
    }
    hasher.text(&row.correlation_id);
    hasher.text(&row.trace_id);
    hasher.finish()
}

pub fn event_link(previous: &Hash, sequence: i64, row: &EventRow) -> Hash {
    let mut hasher = Hasher::start(previous, Stream::Events, sequence);
    hasher.bytes(row.id.uuid().as_bytes());
    hasher.bytes(&row.at.unix_micros().to_be_bytes());
    scope(&mut hasher, row.scope);
    for text in [
        &row.kind,
        &row.subject,
        &row.actor_kind,
        &row.actor_id,
        &row.data,
        &row.correlation_id,
        &row.trace_id,
    ] {
        hasher.text(text);
    }
    hasher.finish()
}

fn scope(hasher: &mut Hasher, scope: crate::iam::Scope) {
    hasher.maybe(scope.tenant().map(|id| id.uuid().into_bytes()).as_ref().map(<[u8; 16]>::as_slice));
    hasher.maybe(scope.project().map(|id| id.uuid().into_bytes()).as_ref().map(<[u8; 16]>::as_slice));
}

/// A hash as people compare it.
pub fn hex(hash: &[u8]) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Timestamp;
    use crate::event::Outcome;
    use crate::iam::Scope;
    use crate::ids::AuditId;

    fn row() -> AuditRow {
        AuditRow {
            id: AuditId::new(uuid::Uuid::from_u128(1)),
            at: Timestamp::from_unix_seconds(1).unwrap(),
            scope: Scope::Platform,
            actor_kind: "user".into(),
            actor_id: "a".into(),
            action: "x".into(),
            outcome: Outcome::Done,
            object_kind: "t".into(),
            object_id: "o".into(),
            before: None,
            after: Some("{}".into()),
            reason: None,
            correlation_id: "c".into(),
            trace_id: "t".into(),
        }
    }

    proptest! {
        /// N-05: every column is covered; text that moves from one column to the next changes the hash.
        #[test]
        fn moving_text_between_columns_changes_the_hash(a in "[ab]{0,3}", b in "[ab]{0,3}", c in "[ab]{0,3}", d in "[ab]{0,3}") {
            let make = |actor: &str, action: &str| AuditRow { actor_id: actor.into(), action: action.into(), ..row() };
            let same = a == c && b == d;
            let (one, two) = (audit_link(&GENESIS, 1, &make(&a, &b)), audit_link(&GENESIS, 1, &make(&c, &d)));
            prop_assert_eq!(one == two, same);
        }
    }

    #[test]
    fn absent_and_empty_are_different_and_the_position_counts() {
        let link = |row: &AuditRow, seq| audit_link(&GENESIS, seq, row);
        assert_ne!(link(&row(), 1), link(&AuditRow { before: Some(String::new()), ..row() }, 1));
        assert_ne!(link(&row(), 1), link(&row(), 2));
        assert_ne!(audit_link(&[1; 32], 1, &row()), link(&row(), 1));
    }
}
