//! Whether an order is obeyed. Pure: the verifiers, the time and what the node remembers are arguments.
//!
//! Marks are compared era first. A restore of the control plane's database may bring lower generations and epochs back;
//! it raises the era, so within the new era they count again, and everything signed in the old one is refused.

use std::collections::BTreeMap;
use std::time::Duration;

use gpuaas_agent_protocol::link::Refused;
use gpuaas_agent_protocol::spec::MAX_SPEC_BYTES;
use gpuaas_agent_protocol::task::{self, Order, Refusal, SignedTask, Task, Verifier};
use uuid::Uuid;

use crate::journal::{Record, Wish};

/// No order is valid for longer; bounds how long marks and nonces have to be remembered.
pub const LONGEST_VALIDITY: Duration = Duration::from_hours(24);
/// How far an order's time of issue may lie ahead: the server and its signing replicas differ a little.
const SKEW: Duration = Duration::from_mins(1);
const LONGEST_GRACE_SECONDS: u32 = 600;

/// What the node knows when an order comes.
pub struct Knowledge<'a> {
    pub node_id: Uuid,
    pub verifiers: &'a [Verifier],
    pub server_time: i64,
    /// The highest era ever seen.
    pub era: u64,
    pub records: &'a dyn Fn(Uuid) -> Option<Record>,
    /// Nonces of every accepted order that has not expired.
    pub nonces: &'a BTreeMap<Uuid, i64>,
}

/// What an order changes.
#[derive(Debug)]
pub enum Verdict {
    /// A new wish; the record is to be written before anything else happens.
    New(Task, Box<Record>),
    /// The same wish once more. The record has the new nonce and epoch.
    Again(Task, Box<Record>),
}

pub fn judge(signed: &SignedTask, knowledge: &Knowledge<'_>) -> Result<Verdict, Refused> {
    let task = task::open(signed, knowledge.verifiers, knowledge.server_time).map_err(plain)?;
    if task.node_id != knowledge.node_id {
        return Err(plain(Refusal::WrongNode));
    }
    check_times(&task, knowledge.server_time)?;
    if task.era < knowledge.era {
        return Err(plain(Refusal::StaleEra));
    }
    if knowledge.nonces.contains_key(&task.nonce) {
        return Err(plain(Refusal::Replayed));
    }
    check_order(&task)?;
    let now = knowledge.server_time;
    let known = (knowledge.records)(task.instance_id);
    let fresh = known.is_none();
    let mut record = known.unwrap_or_else(|| Record::new(task.instance_id, now));
    if task.era < record.era {
        return Err(plain(Refusal::StaleEra));
    }
    if !fresh && is_of_another_kind(&record.wish, &task.order) {
        return Err(plain(Refusal::Contradiction));
    }
    let same_era = task.era == record.era && !fresh;
    if same_era && task.epoch < record.epoch {
        return Err(plain(Refusal::StaleEpoch));
    }
    if same_era && task.generation < record.generation {
        return Err(plain(Refusal::StaleGeneration));
    }
    let same_generation = !fresh && task.generation == record.generation && record.generation > 0;
    let again = same_generation && record.order_digest == task.order_digest.as_str();
    if same_generation && same_era && !again {
        return Err(plain(Refusal::Contradiction));
    }
    record.nonces.retain(|_, expires_at| *expires_at >= now);
    record.nonces.insert(task.nonce, task.expires_at);
    record.epoch = task.epoch;
    record.era = task.era;
    record.updated_at = now;
    if again {
        take_up_again(&mut record, &task);
        return Ok(Verdict::Again(task, Box::new(record)));
    }
    record.generation = task.generation;
    record.take_order(task.order.clone(), &task.order_digest);
    Ok(Verdict::New(task, Box::new(record)))
}

/// The journal may have lost what was ordered; the same order brings it back.
fn take_up_again(record: &mut Record, task: &Task) {
    match record.wish {
        Wish::Adopted => record.wish = task.order.clone().into(),
        // Whoever asks again has not heard the answer.
        Wish::Gone => record.acknowledged = false,
        Wish::Launch { .. } | Wish::Stop { .. } | Wish::Remove { .. } | Wish::RemoveVolume { .. } => {}
    }
}

fn check_times(task: &Task, now: i64) -> Result<(), Refused> {
    let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    if task.issued_at > now.saturating_add(micros(SKEW)) {
        return Err(plain(Refusal::NotYetValid));
    }
    if task.expires_at.saturating_sub(task.issued_at) > micros(LONGEST_VALIDITY) {
        return Err(refused(Refusal::Malformed, "An order is valid for a day at most."));
    }
    Ok(())
}

/// A volume's id is no instance's. What is gone leaves no kind behind.
fn is_of_another_kind(wish: &Wish, order: &Order) -> bool {
    let volume = matches!(order, Order::RemoveVolume { .. });
    match wish {
        Wish::Gone => false,
        Wish::RemoveVolume { .. } => !volume,
        Wish::Launch { .. } | Wish::Stop { .. } | Wish::Remove { .. } | Wish::Adopted => volume,
    }
}

fn check_order(task: &Task) -> Result<(), Refused> {
    match &task.order {
        Order::Launch { spec } => {
            if serde_json::to_vec(spec).map_or(usize::MAX, |bytes| bytes.len()) > MAX_SPEC_BYTES {
                return Err(plain(Refusal::TooLarge));
            }
            spec.check().map_err(|fault| refused(Refusal::SpecRefused, &fault.to_string()))
        }
        Order::Stop { grace_seconds } | Order::Remove { grace_seconds } => {
            if *grace_seconds > LONGEST_GRACE_SECONDS {
                return Err(refused(Refusal::SpecRefused, "/grace_seconds: at most 600."));
            }
            Ok(())
        }
        Order::RemoveVolume { volume_id } if *volume_id != task.instance_id || volume_id.is_nil() => {
            Err(refused(Refusal::SpecRefused, "/volume_id: the order is about another one."))
        }
        Order::RemoveVolume { .. } => Ok(()),
    }
}

pub(crate) fn refused(refusal: Refusal, message: &str) -> Refused {
    Refused { refusal, message: message.to_owned() }
}

fn plain(refusal: Refusal) -> Refused {
    let message = match refusal {
        Refusal::TooLarge => "The order is too large.",
        Refusal::Malformed => "The order does not parse.",
        Refusal::UnknownKey => "No key of this id is trusted now.",
        Refusal::BadSignature => "The signature does not fit.",
        Refusal::WrongProtocol => "The order speaks another version of the protocol.",
        Refusal::WrongNode => "The order is for another node.",
        Refusal::Expired => "The order has expired.",
        Refusal::NotYetValid => "The order was issued in the future.",
        Refusal::StaleEra => "The order comes from before a restore.",
        Refusal::StaleEpoch => "The sender has lost the lease.",
        Refusal::StaleGeneration => "A later order was accepted before.",
        Refusal::Replayed => "This very order was accepted before.",
        Refusal::DigestMismatch => "The digest is not the order's.",
        Refusal::SpecRefused => "The node's own rules refuse the order.",
        Refusal::Contradiction => "Another order of the same generation was accepted before.",
        Refusal::JournalUnwritable => "The node cannot write its journal.",
        Refusal::NotReady => "The node's engine does not answer yet.",
    };
    refused(refusal, message)
}
