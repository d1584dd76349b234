use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000 + seconds).unwrap()
}

/// What the effects opened and not yet closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Open {
    reserved: bool,
    quarantined: bool,
    run: bool,
    orders: Vec<(i64, OrderKind)>,
    receipts: u32,
}

impl Open {
    fn take(&mut self, state: &State, effects: &[Effect]) {
        for effect in effects {
            match effect {
                E::Reserve => {
                    assert!(!self.reserved, "reserved twice");
                    self.reserved = true;
                }
                E::Release => (self.reserved, self.quarantined) = (false, false),
                E::Quarantine => (self.reserved, self.quarantined) = (false, true),
                E::SupersedeOrders => self.orders.clear(),
                E::Order(kind) => self.orders.push((state.desired, *kind)),
                E::FinishOrder => self.orders.retain(|(generation, _)| *generation != state.desired),
                E::OpenRun => {
                    assert!(!self.run, "a second run interval");
                    self.run = true;
                }
                E::CloseRun => self.run = false,
                E::KeepReceipt | E::UnattestedReceipt => self.receipts += 1,
                E::RevokeAccess | E::Publish(_) | E::Note(_) => {}
            }
        }
        self.check(state);
    }

    fn check(&self, state: &State) {
        assert!(self.orders.len() <= 1, "two orders at once: {self:?}");
        assert!(!self.reserved || state.is_live(), "reserved for something that is over: {state:?}");
        // A failed instance on its way out holds nothing any more.
        let needs = matches!(state.status, S::Created | S::Starting | S::Running);
        assert!(self.reserved || !needs, "unreserved: {state:?}");
        assert!(
            !self.run || matches!(state.status, S::Running | S::Stopping),
            "a run without a process: {state:?}"
        );
        let waits = state.operation.is_some();
        let sweeping =
            state.is_decommissioned() && self.orders.iter().all(|(_, kind)| *kind == OrderKind::Remove);
        assert_eq!(
            !self.orders.is_empty(),
            waits || (sweeping && !self.orders.is_empty()),
            "{state:?} {self:?}"
        );
        assert!(!state.is_decommissioned() || self.receipts == 1, "one receipt: {state:?} {self:?}");
        assert!(state.is_decommissioned() || self.receipts == 0);
    }
}

fn allowed(from: Status, to: Status) -> bool {
    from == to
        || match from {
            // One report may tell of both steps: delivered, then ready.
            S::Created => matches!(to, S::Starting | S::Running | S::Stopping | S::Failed),
            S::Starting => matches!(to, S::Running | S::Stopping | S::Failed),
            S::Running => matches!(to, S::Starting | S::Stopping | S::Failed),
            S::Stopping => matches!(to, S::Stopped | S::Failed),
            S::Stopped => to == S::Starting,
            S::Failed => matches!(to, S::Starting | S::Stopping),
        }
}

fn event() -> impl Strategy<Value = (u8, i64, u8, bool)> {
    (0u8..14, -1i64..2, 0u8..10, any::<bool>())
}

fn make(state: &State, (kind, offset, phase, flag): (u8, i64, u8, bool)) -> Event {
    let phases = [
        Phase::Accepted,
        Phase::Pulling,
        Phase::Creating,
        Phase::Starting,
        Phase::Running,
        Phase::Stopping,
        Phase::Stopped,
        Phase::Failed,
        Phase::Removing,
        Phase::Removed,
    ];
    let generation = state.desired + offset.min(0);
    let failure = Failure { reason: FailureReason::ContainerExited, detail: String::new() };
    match kind {
        0 => Event::Stop,
        1 => Event::Start,
        2 => Event::Decommission,
        3 => Event::ForceDecommission,
        4 => Event::Delivered { generation },
        5 => Event::Refused { generation, failure, perhaps_taken: generation % 2 == 0 },
        6 => Event::Overdue { delivered: flag },
        7 if flag => Event::NodeForgotten,
        _ => Event::Observed {
            generation,
            phase: phases[usize::from(phase)],
            health: if flag { Health::Healthy } else { Health::Unhealthy },
            failure: flag.then_some(failure),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// H-22, H-35: no order of events leaves a reservation, interval or order open, and every move is an allowed one.
    #[test]
    fn nothing_stays_open_whatever_happens(events in prop::collection::vec(event(), 1..40)) {
        let (mut state, effects) = State::create();
        let mut open = Open::default();
        open.take(&state, &effects);
        for (n, raw) in events.into_iter().enumerate() {
            let event = make(&state, raw);
            let forced = matches!(event, Event::ForceDecommission | Event::NodeForgotten);
            let before = state.clone();
            match apply(state.clone(), event, at(i64::try_from(n).unwrap())) {
                Ok((next, effects)) => {
                    prop_assert!(
                        forced || allowed(before.status, next.status),
                        "{before:?} -> {next:?}"
                    );
                    prop_assert!(next.desired >= before.desired && next.observed >= before.observed);
                    prop_assert!(before.decommissioned_at.is_none() || next.decommissioned_at == before.decommissioned_at);
                    open.take(&next, &effects);
                    state = next;
                }
                Err(error) => prop_assert_eq!(error.code(), "illegal_instance_move"),
            }
        }
    }

    /// I2: from anywhere, a decommission that the node answers ends with a receipt and nothing open.
    #[test]
    fn every_instance_can_be_ended(events in prop::collection::vec(event(), 0..20)) {
        let (mut state, effects) = State::create();
        let mut open = Open::default();
        open.take(&state, &effects);
        let end = [Event::Decommission];
        for raw in events.into_iter().map(Some).chain([None]) {
            let event = raw.map_or_else(|| end[0].clone(), |raw| make(&state, raw));
            if let Ok((next, effects)) = apply(state.clone(), event, at(0)) {
                open.take(&next, &effects);
                state = next;
            }
        }
        let seen = Event::Observed { generation: state.desired, phase: Phase::Removed, health: Health::Unknown, failure: None };
        let (state, effects) = apply(state, seen, at(1)).unwrap();
        open.take(&state, &effects);
        prop_assert!(state.is_decommissioned());
        prop_assert_eq!(open, Open { receipts: 1, ..Open::default() });
    }
}

fn running() -> State {
    let (state, _) = State::create();
    let seen = |phase| Event::Observed { generation: 1, phase, health: Health::Healthy, failure: None };
    let (state, _) = apply(state, Event::Delivered { generation: 1 }, at(0)).unwrap();
    apply(state, seen(Phase::Running), at(1)).unwrap().0
}

/// H-18, H-32: created, starting, running, each told to the world once.
#[test]
fn a_launch_goes_through_its_states() {
    let (state, effects) = State::create();
    assert_eq!((state.status, state.operation), (S::Created, Some(Op::Deploy)));
    assert!(effects.contains(&E::Publish(EventType::InstanceRequested)));
    let (state, effects) = apply(state, Event::Delivered { generation: 1 }, at(0)).unwrap();
    assert_eq!(state.status, S::Starting);
    assert_eq!(effects, [E::Publish(EventType::InstanceDeploying)]);
    let seen =
        Event::Observed { generation: 1, phase: Phase::Running, health: Health::Healthy, failure: None };
    let (state, effects) = apply(state, seen.clone(), at(1)).unwrap();
    assert_eq!((state.status, state.operation, state.activated_at), (S::Running, None, Some(at(1))));
    assert!(effects.contains(&E::OpenRun));
    let (again, effects) = apply(state.clone(), seen, at(2)).unwrap();
    assert_eq!((again, effects), (state, vec![]), "the same report twice changes nothing");
}

/// H-21, H-33: stop is harmless when repeated and can be undone; decommission cannot.
#[test]
fn stop_is_reversible_and_decommission_is_final() {
    let (stopping, _) = apply(running(), Event::Stop, at(2)).unwrap();
    assert_eq!(apply(stopping.clone(), Event::Stop, at(2)).unwrap(), (stopping.clone(), vec![]));
    let seen =
        Event::Observed { generation: 2, phase: Phase::Stopped, health: Health::Unknown, failure: None };
    let (stopped, _) = apply(stopping, seen, at(3)).unwrap();
    assert_eq!(stopped.status, S::Stopped);
    let (started, effects) = apply(stopped.clone(), Event::Start, at(4)).unwrap();
    assert_eq!((started.status, started.desired), (S::Starting, 3));
    assert!(effects.contains(&E::Reserve));
    let (ending, _) = apply(stopped, Event::Decommission, at(4)).unwrap();
    assert_eq!((ending.status, ending.operation), (S::Stopped, Some(Op::Decommission)));
    let seen =
        Event::Observed { generation: 3, phase: Phase::Removed, health: Health::Unknown, failure: None };
    let (ended, effects) = apply(ending, seen, at(5)).unwrap();
    assert!(effects.contains(&E::KeepReceipt) && ended.is_decommissioned());
    assert_eq!(apply(ended, Event::Start, at(6)).unwrap_err().code(), "illegal_instance_move");
}

/// H-07: nothing says stopped while the node still sees a process.
#[test]
fn only_the_node_says_stopped() {
    let (stopping, _) = apply(running(), Event::Stop, at(2)).unwrap();
    for phase in [Phase::Running, Phase::Stopping, Phase::Starting] {
        let seen = Event::Observed { generation: 2, phase, health: Health::Healthy, failure: None };
        let (state, effects) = apply(stopping.clone(), seen, at(3)).unwrap();
        assert_eq!(state.status, S::Stopping, "{phase:?}");
        assert!(effects.is_empty());
    }
    let old =
        Event::Observed { generation: 1, phase: Phase::Stopped, health: Health::Unknown, failure: None };
    assert_eq!(apply(stopping.clone(), old, at(3)).unwrap().0, stopping, "an old report changes nothing");
}

/// DESIGN §3.9: a forced end quarantines the devices until the node has swept or is forgotten.
#[test]
fn a_forced_end_waits_for_the_sweep() {
    let (ended, effects) = apply(running(), Event::ForceDecommission, at(2)).unwrap();
    assert!(
        ended.is_decommissioned()
            && effects.contains(&E::Quarantine)
            && effects.contains(&E::UnattestedReceipt)
    );
    let seen =
        Event::Observed { generation: 2, phase: Phase::Removed, health: Health::Unknown, failure: None };
    let (_, swept) = apply(ended.clone(), seen, at(9)).unwrap();
    assert!(swept.contains(&E::Release));
    let (_, forgotten) = apply(ended, Event::NodeForgotten, at(9)).unwrap();
    assert!(forgotten.contains(&E::Release));
}
