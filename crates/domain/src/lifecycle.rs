//! The life of an instance: one pure function from a state and an event to the next state and what has to be done.
//!
//! Laws, proven below for every order of events: what is reserved, timed or ordered for an instance is open only while
//! the instance is live, and nothing is open once it is stopped, failed or decommissioned. `generation` counts wishes:
//! each order to the node carries the one it belongs to, and what a node says about an older one changes nothing.

use crate::event::EventType;
use crate::{Error, Result, Timestamp};
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::{Health, Phase};

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$about])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == text)
            }
        }
    };
}
pub(crate) use named;

named! {
    /// What an instance is doing (H-12).
    Status {
        Created = "created",
        Starting = "starting",
        Running = "running",
        Stopping = "stopping",
        Stopped = "stopped",
        Failed = "failed",
    }
}

named! {
    /// Why it is doing it (H-32).
    Operation {
        Deploy = "deploy",
        Upgrade = "upgrade",
        Rollback = "rollback",
        Start = "start",
        Stop = "stop",
        Decommission = "decommission",
    }
}

/// Everything the life of an instance turns on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub status: Status,
    pub operation: Option<Operation>,
    /// The newest wish.
    pub desired: i64,
    /// The newest wish a node has spoken about.
    pub observed: i64,
    pub health: Health,
    pub failure: Option<Failure>,
    pub activated_at: Option<Timestamp>,
    pub decommissioned_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: FailureReason,
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Stop,
    Start,
    Decommission,
    /// The node is away for good and somebody answers for it.
    ForceDecommission,
    /// The node has the order of this generation in its journal.
    Delivered {
        generation: i64,
    },
    /// The node will not carry out the order of this generation.
    Refused {
        generation: i64,
        failure: Failure,
        /// It was sent before, and the answer to that was lost.
        perhaps_taken: bool,
    },
    /// What the node sees.
    Observed {
        generation: i64,
        phase: Phase,
        health: Health,
        failure: Option<Failure>,
    },
    /// The launch order waited for its node longer than it may.
    Overdue {
        delivered: bool,
    },
    /// The node was forgotten: nothing will ever be heard of it again.
    NodeForgotten,
}

/// An order to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    Launch,
    Stop,
    Remove,
}

/// What has to be done in the same transaction as the change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Hold devices, processor, memory and ports.
    Reserve,
    Release,
    /// Release, but nobody else gets the devices until the node has swept.
    Quarantine,
    /// Orders of older generations that nobody has carried out are void.
    SupersedeOrders,
    Order(OrderKind),
    /// The order of the current generation is carried out, or refused.
    FinishOrder,
    OpenRun,
    CloseRun,
    /// Credentials and open connections of the instance end.
    RevokeAccess,
    /// The node's receipt is kept.
    KeepReceipt,
    /// A receipt that says nobody has looked.
    UnattestedReceipt,
    Publish(EventType),
    /// A line in the timeline.
    Note(&'static str),
}

use Effect as E;
use Operation as Op;
use Status as S;

impl State {
    /// A new instance and what its creation asks for.
    pub fn create() -> (Self, Vec<Effect>) {
        let state = Self {
            status: S::Created,
            operation: Some(Op::Deploy),
            desired: 1,
            observed: 0,
            health: Health::Unknown,
            failure: None,
            activated_at: None,
            decommissioned_at: None,
        };
        (state, vec![E::Reserve, E::Order(OrderKind::Launch), E::Publish(EventType::InstanceRequested)])
    }

    /// Whether it may hold anything.
    pub fn is_live(&self) -> bool {
        matches!(self.status, S::Created | S::Starting | S::Running | S::Stopping)
    }

    pub fn is_decommissioned(&self) -> bool {
        self.decommissioned_at.is_some()
    }
}

/// The only way a state changes. An event that changes nothing gives the same state and no effects.
pub fn apply(state: State, event: Event, at: Timestamp) -> Result<(State, Vec<Effect>)> {
    match event {
        Event::Stop => stop(state),
        Event::Start => start(state),
        Event::Decommission => Ok(decommission(state)),
        Event::ForceDecommission => Ok(force_decommission(state, at)),
        Event::Delivered { generation } => {
            // Sent again to a node that had lost it: what it asks for has been reached before.
            let over = generation == state.desired && state.operation.is_none() && !state.is_decommissioned();
            let (state, mut effects) = delivered(state, generation);
            effects.extend(over.then_some(E::FinishOrder));
            Ok((state, effects))
        }
        Event::Refused { generation, failure, perhaps_taken } => {
            Ok(refused(state, generation, failure, perhaps_taken))
        }
        Event::Observed { generation, phase, health, failure } => {
            Ok(observed(state, generation, phase, health, failure, at))
        }
        Event::Overdue { delivered } => Ok(overdue(state, delivered)),
        Event::NodeForgotten => Ok(node_forgotten(state, at)),
    }
}

fn illegal(state: &State, wish: &str, advice: &str) -> Error {
    Error::conflict(
        "illegal_instance_move",
        format!("An instance that is {} cannot be {wish}; {advice}.", describe(state)),
    )
    .with_param("status", state.status.name())
    .with_param("current_operation", state.operation.map(Op::name))
}

fn describe(state: &State) -> &'static str {
    if state.is_decommissioned() { "decommissioned" } else { state.status.name() }
}

fn stop(state: State) -> Result<(State, Vec<Effect>)> {
    if state.is_decommissioned() || state.operation == Some(Op::Decommission) {
        return Err(illegal(&state, "stopped", "it is being, or has been, taken away for good"));
    }
    match state.status {
        S::Stopped | S::Stopping => Ok((state, Vec::new())),
        S::Failed => Err(illegal(&state, "stopped", "nothing of it runs; start or decommission it")),
        S::Created | S::Starting | S::Running => {
            let next =
                State { status: S::Stopping, operation: Some(Op::Stop), desired: state.desired + 1, ..state };
            let effects = vec![
                E::SupersedeOrders,
                E::RevokeAccess,
                E::Order(OrderKind::Stop),
                E::Publish(EventType::InstanceStopRequested),
            ];
            Ok((next, effects))
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a move consumes the state it starts from")]
fn start(state: State) -> Result<(State, Vec<Effect>)> {
    if state.is_decommissioned() || state.operation.is_some() {
        return Err(illegal(&state, "started", "wait for the operation under way, or launch a new instance"));
    }
    match state.status {
        S::Created | S::Starting | S::Running | S::Stopping => {
            Err(illegal(&state, "started", "only a stopped or failed instance can"))
        }
        S::Stopped | S::Failed => {
            let next = State {
                status: S::Starting,
                operation: Some(Op::Start),
                desired: state.desired + 1,
                failure: None,
                health: Health::Unknown,
                ..state
            };
            let effects =
                vec![E::Reserve, E::Order(OrderKind::Launch), E::Publish(EventType::InstanceStartRequested)];
            Ok((next, effects))
        }
    }
}

fn decommission(state: State) -> (State, Vec<Effect>) {
    if state.is_decommissioned() || state.operation == Some(Op::Decommission) {
        return (state, Vec::new());
    }
    // A stopped instance has no process to stop; its status stays while scratch is removed.
    let status = if state.status == S::Stopped { S::Stopped } else { S::Stopping };
    let next = State { status, operation: Some(Op::Decommission), desired: state.desired + 1, ..state };
    let effects = vec![
        E::SupersedeOrders,
        E::RevokeAccess,
        E::Order(OrderKind::Remove),
        E::Publish(EventType::InstanceDecommissionRequested),
    ];
    (next, effects)
}

fn force_decommission(state: State, at: Timestamp) -> (State, Vec<Effect>) {
    if state.is_decommissioned() {
        return (state, Vec::new());
    }
    let live = state.is_live();
    let next = State {
        status: S::Stopped,
        operation: None,
        desired: state.desired + 1,
        health: Health::Unknown,
        decommissioned_at: Some(at),
        ..state
    };
    let mut effects = vec![E::SupersedeOrders, E::RevokeAccess];
    if live {
        effects.extend([E::CloseRun, E::Quarantine]);
    }
    // The sweep waits for the node; it holds nothing.
    effects.extend([
        E::Order(OrderKind::Remove),
        E::UnattestedReceipt,
        E::Publish(EventType::InstanceDecommissioned),
    ]);
    (next, effects)
}

fn delivered(state: State, generation: i64) -> (State, Vec<Effect>) {
    if generation != state.desired || state.is_decommissioned() {
        return (state, Vec::new());
    }
    let observed = state.observed.max(generation);
    if state.status == S::Created {
        let next = State { status: S::Starting, observed, ..state };
        return (next, vec![E::Publish(EventType::InstanceDeploying)]);
    }
    (State { observed, ..state }, Vec::new())
}

fn refused(state: State, generation: i64, failure: Failure, perhaps_taken: bool) -> (State, Vec<Effect>) {
    match state.status {
        S::Created | S::Starting if generation == state.desired && perhaps_taken => {
            end_by_stop(state, Some(failure), "refused")
        }
        S::Created | S::Starting if generation == state.desired => fail(state, failure),
        // A stop or removal is never given up: the order is sent again.
        _ => (state, Vec::new()),
    }
}

/// The node may have it, or has it: the only honest end is to have it stop and say so.
fn end_by_stop(state: State, failure: Option<Failure>, why: &'static str) -> (State, Vec<Effect>) {
    let next = State {
        status: S::Stopping,
        operation: Some(Op::Stop),
        desired: state.desired + 1,
        failure: failure.or(state.failure),
        ..state
    };
    (next, vec![E::SupersedeOrders, E::RevokeAccess, E::Order(OrderKind::Stop), E::Note(why)])
}

#[expect(clippy::needless_pass_by_value, reason = "a move consumes the state it starts from")]
fn fail(state: State, failure: Failure) -> (State, Vec<Effect>) {
    let next = State {
        status: S::Failed,
        operation: None,
        failure: Some(failure),
        health: Health::Unknown,
        ..state
    };
    let effects =
        vec![E::CloseRun, E::Release, E::FinishOrder, E::RevokeAccess, E::Publish(EventType::InstanceFailed)];
    (next, effects)
}

fn observed(
    state: State,
    generation: i64,
    phase: Phase,
    health: Health,
    failure: Option<Failure>,
    at: Timestamp,
) -> (State, Vec<Effect>) {
    if generation != state.desired {
        return (state, Vec::new());
    }
    if state.is_decommissioned() {
        // The sweep after a forced end: the devices may be used again.
        let swept = phase == Phase::Removed && state.observed < generation;
        let effects = if swept { vec![E::Release, E::FinishOrder, E::Note("swept")] } else { Vec::new() };
        let observed = if swept { generation } else { state.observed };
        return (State { observed, ..state }, effects);
    }
    let (state, mut effects) = delivered(state, generation);
    let (state, more) = match (phase, state.status) {
        (Phase::Running, S::Starting) => became_running(state, health, at),
        (Phase::Running | Phase::Starting, S::Running) => health_seen(state, phase, health),
        (Phase::Stopped, S::Stopping) if state.operation == Some(Op::Stop) => became_stopped(state),
        (Phase::Removed, _) if state.operation == Some(Op::Decommission) => became_removed(state, at),
        (Phase::Failed, S::Starting | S::Running | S::Stopping)
            if state.operation != Some(Op::Decommission) =>
        {
            let unknown =
                || Failure { reason: FailureReason::Internal, detail: "the node gave no reason".into() };
            fail(state, failure.unwrap_or_else(unknown))
        }
        // Written off, and there all the same.
        (
            Phase::Accepted | Phase::Pulling | Phase::Creating | Phase::Starting | Phase::Running,
            S::Failed,
        ) => end_by_stop(state, None, "runaway"),
        _ => (state, Vec::new()),
    };
    effects.extend(more);
    (state, effects)
}

fn became_running(state: State, health: Health, at: Timestamp) -> (State, Vec<Effect>) {
    let activated_at = state.activated_at.or(Some(at));
    let next = State { status: S::Running, operation: None, activated_at, health, ..state };
    (next, vec![E::OpenRun, E::FinishOrder, E::Publish(EventType::InstanceRunning)])
}

fn health_seen(state: State, phase: Phase, health: Health) -> (State, Vec<Effect>) {
    // A component that is being restarted is not healthy, whatever its last probe said.
    let health = if phase == Phase::Starting { Health::Unhealthy } else { health };
    if health == state.health {
        return (state, Vec::new());
    }
    (State { health, ..state }, vec![E::Publish(EventType::InstanceHealthChanged)])
}

fn became_stopped(state: State) -> (State, Vec<Effect>) {
    let next = State { status: S::Stopped, operation: None, health: Health::Unknown, ..state };
    (next, vec![E::CloseRun, E::Release, E::FinishOrder, E::Publish(EventType::InstanceStopped)])
}

fn became_removed(state: State, at: Timestamp) -> (State, Vec<Effect>) {
    let next = State {
        status: S::Stopped,
        operation: None,
        health: Health::Unknown,
        decommissioned_at: Some(at),
        ..state
    };
    let effects = vec![
        E::CloseRun,
        E::Release,
        E::FinishOrder,
        E::KeepReceipt,
        E::Publish(EventType::InstanceDecommissioned),
    ];
    (next, effects)
}

fn overdue(state: State, delivered: bool) -> (State, Vec<Effect>) {
    match state.status {
        S::Created | S::Starting if !delivered => {
            let detail = "the node was not reachable in time".to_owned();
            let (state, mut effects) =
                fail(state, Failure { reason: FailureReason::DeadlineExceeded, detail });
            effects.insert(0, E::SupersedeOrders);
            (state, effects)
        }
        S::Created | S::Starting => {
            let detail = "the node took the launch and was not heard of again in time".to_owned();
            let failure = Failure { reason: FailureReason::DeadlineExceeded, detail };
            end_by_stop(state, Some(failure), "overdue")
        }
        S::Running | S::Stopping | S::Stopped | S::Failed => (state, Vec::new()),
    }
}

fn node_forgotten(state: State, at: Timestamp) -> (State, Vec<Effect>) {
    if state.is_decommissioned() {
        return (state, vec![E::SupersedeOrders, E::Release]);
    }
    if state.operation == Some(Op::Decommission) {
        let live = state.is_live();
        let next = State {
            status: S::Stopped,
            operation: None,
            health: Health::Unknown,
            decommissioned_at: Some(at),
            ..state
        };
        let mut effects = vec![E::SupersedeOrders];
        if live {
            effects.extend([E::CloseRun, E::Release]);
        }
        effects.extend([E::UnattestedReceipt, E::Publish(EventType::InstanceDecommissioned)]);
        return (next, effects);
    }
    if !state.is_live() {
        return (state, Vec::new());
    }
    let detail = "the node was forgotten".to_owned();
    let (state, mut effects) = fail(state, Failure { reason: FailureReason::NodeForgotten, detail });
    effects.insert(0, E::SupersedeOrders);
    (state, effects)
}

#[cfg(test)]
mod tests;
