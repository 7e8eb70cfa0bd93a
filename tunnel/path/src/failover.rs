//! The choice of the gateway that carries a pod's traffic. Pure: time and signs go in, actions come out.
//!
//! ```text
//!   active is silent or idle        it does not answer a handshake        another answers
//!  Calm ------------------> Suspect -----------------------------> Search ---------------> Move, Calm
//!   ^                         |                                      |
//!   +------ it answers -------+--------------------------------------+---- none answers for long ---> Lost
//! ```
//!
//! The handshake is the only WireGuard message that is always answered, so a gateway is suspected only after it left one
//! unanswered. Only then are the others tried, so they cost nothing in normal operation. A pod that only waits for
//! connections has nothing unanswered, so it sends a handshake from time to time: it could not be reached through a
//! gateway that has lost its session.

use std::time::Duration;

use warren_proto::engine::Liveness;

/// Silence that raises a suspicion: least and most.
const SILENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(4));
/// Time after which an idle gateway is probed. A keepalive, which is sent every 25 s, is not answered.
const IDLE: Duration = Duration::from_secs(30);
/// Time that the active gateway has to answer its handshake before others are probed, and at least so many round trips.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(400);
const ANSWER_ROUND_TRIPS: u32 = 3;
/// Time between two rounds of handshakes.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Silence of all gateways after which the lease counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(6);
/// Received packets that reset the tolerated silence to the least.
const BUSY_PACKETS: u64 = 1000;

/// An action for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Begin a handshake with this gateway.
    Probe(usize),
    /// Send all traffic to this one from now on.
    Move(usize),
    /// No gateway answers: the lease may be lost, so enrol again. Reported once per outage.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Calm,
    Suspect { since: Duration },
    Search { since: Duration, again: Duration, reported: bool },
}

/// The choice.
#[derive(Debug)]
pub struct Failover {
    active: usize,
    stage: Stage,
    silence: Duration,
    /// Received packets when the tolerated silence was last raised.
    raised_at: u64,
}

impl Failover {
    /// Begins with the gateway of this number.
    #[must_use]
    pub fn new(active: usize) -> Self {
        Self { active, stage: Stage::Calm, silence: SILENCE.0, raised_at: 0 }
    }

    /// The gateway in use.
    #[must_use]
    pub fn active(&self) -> usize {
        self.active
    }

    /// Restarts with this gateway, which may be the same.
    pub fn restart(&mut self, active: usize) {
        *self = Self::new(active);
    }

    /// Evaluates the signs of life of all gateways; to be called a few times a second.
    #[must_use]
    pub fn poll(&mut self, now: Duration, signs: &[Liveness]) -> Vec<Action> {
        let Some(current) = signs.get(self.active) else { return Vec::new() };
        if current.received.saturating_sub(self.raised_at) >= BUSY_PACKETS {
            self.silence = SILENCE.0;
        }
        let answered = |sign: &Liveness, since: Duration| sign.heard.is_some_and(|heard| heard > since);
        match self.stage {
            Stage::Calm => {
                let silent = current.waiting.is_some_and(|since| now.saturating_sub(since) >= self.silence);
                let idle =
                    current.session && current.heard.is_some_and(|heard| now.saturating_sub(heard) >= IDLE);
                if silent {
                    self.silence = (self.silence * 2).min(SILENCE.1);
                    self.raised_at = current.received;
                } else if !idle {
                    return Vec::new();
                }
                self.stage = Stage::Suspect { since: now };
                vec![Action::Probe(self.active)]
            }
            Stage::Suspect { since } | Stage::Search { since, .. } if answered(current, since) => {
                self.stage = Stage::Calm;
                Vec::new()
            }
            Stage::Suspect { since } => {
                let timeout = ANSWER_TIMEOUT.max(current.rtt.unwrap_or_default() * ANSWER_ROUND_TRIPS);
                if now.saturating_sub(since) < timeout {
                    return Vec::new();
                }
                self.stage = Stage::Search { since, again: now + PROBE_INTERVAL, reported: false };
                (0..signs.len()).filter(|index| *index != self.active).map(Action::Probe).collect()
            }
            Stage::Search { since, again, reported } => {
                let others = signs.iter().enumerate().filter(|(index, _)| *index != self.active);
                let best = others.filter(|(_, sign)| sign.session && answered(sign, since));
                if let Some((index, _)) = best.min_by_key(|(_, sign)| sign.rtt.unwrap_or(Duration::MAX)) {
                    self.restart(index);
                    return vec![Action::Move(index)];
                }
                if now < again {
                    return Vec::new();
                }
                let lost = !reported && now.saturating_sub(since) >= LOST_AFTER;
                self.stage = Stage::Search { since, again: now + PROBE_INTERVAL, reported: reported || lost };
                let probes = (0..signs.len()).map(Action::Probe);
                lost.then_some(Action::Lost).into_iter().chain(probes).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn well(heard: u64) -> Liveness {
        Liveness { session: true, heard: Some(at(heard)), rtt: Some(at(20)), ..Liveness::default() }
    }

    fn silent(since: u64) -> Liveness {
        Liveness { waiting: Some(at(since)), ..well(since) }
    }

    /// Everything that is done from one time to another, 100 ms apart.
    fn run(
        failover: &mut Failover,
        from: u64,
        to: u64,
        signs: impl Fn(u64) -> Vec<Liveness>,
    ) -> Vec<(u64, Action)> {
        (from..to)
            .step_by(100)
            .flat_map(|now| failover.poll(at(now), &signs(now)).into_iter().map(move |action| (now, action)))
            .collect()
    }

    #[test]
    fn a_dead_gateway_is_left_within_two_seconds_and_not_before_another_answers() {
        let mut failover = Failover::new(0);
        let done = run(&mut failover, 10_000, 14_000, |now| {
            let other = if now > 11_450 { well(11_450) } else { well(100) };
            vec![silent(10_000), other, Liveness::default()]
        });
        use Action::{Move, Probe};
        assert_eq!(done, [(11_000, Probe(0)), (11_400, Probe(1)), (11_400, Probe(2)), (11_500, Move(1)),]);
        assert_eq!(failover.active(), 1);
    }

    #[test]
    fn a_gateway_that_only_had_nothing_to_say_is_kept_and_given_more_time() {
        let mut failover = Failover::new(0);
        let done = run(&mut failover, 10_000, 20_000, |now| {
            let current = if now > 11_050 {
                Liveness { waiting: Some(at(12_000)), ..well(11_050) }
            } else {
                silent(10_000)
            };
            vec![current, well(100)]
        });
        assert_eq!(done[0], (11_000, Action::Probe(0)));
        // The second time after two seconds.
        assert_eq!(done[1], (14_000, Action::Probe(0)));
    }

    #[test]
    fn a_quiet_gateway_is_asked_twice_a_minute_and_left_as_soon_as_a_silent_one() {
        let mut failover = Failover::new(0);
        // It answers twice, 50 ms after it was asked.
        let done = run(&mut failover, 10_000, 111_000, |now| {
            let heard = [40_050, 70_150].into_iter().rev().find(|heard| now > *heard);
            vec![well(heard.unwrap_or(10_000)), well(if now > 101_450 { 101_450 } else { 100 })]
        });
        use Action::{Move, Probe};
        assert_eq!(
            done,
            [
                (40_000, Probe(0)),
                (70_100, Probe(0)),
                (100_200, Probe(0)),
                (100_600, Probe(1)),
                (101_500, Move(1))
            ]
        );
    }

    #[test]
    fn when_no_gateway_answers_it_is_reported_once() {
        let mut failover = Failover::new(1);
        let done = run(&mut failover, 10_000, 40_000, |_| vec![well(100), silent(10_000)]);
        let lost: Vec<u64> =
            done.iter().filter(|(_, action)| *action == Action::Lost).map(|(at, _)| *at).collect();
        assert_eq!(lost.len(), 1);
        assert!((17_000..18_500).contains(&lost[0]), "{lost:?}");
        assert!(!done.iter().any(|(_, action)| matches!(action, Action::Move(_))));
    }
}
