use super::budget::Bucket;
use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[test]
fn pauses_grow_to_a_bound() {
    let all: Vec<Duration> = (1..40).map(backoff).collect();
    assert!(all[0] <= FIRST);
    assert!(all.iter().all(|pause| *pause <= LONGEST && *pause >= FIRST.mul_f64(0.66)));
    assert!(all[38] >= LONGEST.mul_f64(0.66));
}

#[tokio::test]
async fn a_call_is_repeated_within_its_operation_only() {
    let cancel = CancellationToken::new();
    let all = || {
        [
            repeats(Remedy::Throttled, false),
            repeats(Remedy::Lost, true),
            repeats(Remedy::Lost, false),
            repeats(Remedy::Busy, true),
            repeats(Remedy::Final, true),
        ]
    };
    assert_eq!(all(), [false; 5]);
    let later = Instant::now() + Duration::from_secs(60);
    let repeated = until(later, cancel.clone(), async { all() }).await;
    assert_eq!(repeated, [true, true, false, false, false]);
    assert_eq!(until(Instant::now(), cancel.clone(), async { all() }).await, [false; 5]);
    cancel.cancel();
    assert_eq!(until(later, cancel, async { all() }).await, [false; 5]);
}

#[tokio::test]
async fn a_token_is_that_of_its_create_and_call() {
    assert_eq!(token("CreateNatGateway"), None);
    let tokens = |parts: &'static [&'static str]| async move {
        let of = Token::new(parts);
        assert!(!of.is_used());
        let sent =
            attempt(of.clone(), async { [token("RunInstances"), token("RunInstances"), token("x")] }).await;
        assert!(of.is_used());
        sent
    };
    let [first, again, other] = tokens(&["fabric", "owner", "0"]).await;
    assert!(first.is_some() && first == again && first != other);
    assert_ne!(tokens(&["fabric", "owner", "1"]).await[0], first);
    assert_ne!(tokens(&["fabri", "cowner", "0"]).await[0], first);
}

/// A cloud that grants a burst of 50 calls, and 20 calls per second after it. EC2 documents such buckets ("Request
/// throttling for the Amazon EC2 API").
struct Cloud {
    tokens: f64,
    at: Instant,
    granted: bool,
}

impl Cloud {
    fn grants(&mut self, now: Instant) -> bool {
        self.tokens = (self.tokens + (now - self.at).as_secs_f64() * 20.0).min(50.0);
        self.at = now;
        self.granted = self.tokens >= 1.0;
        if self.granted {
            self.tokens -= 1.0;
        }
        self.granted
    }
}

/// 1,000 resources at once, each with five calls: few calls are throttled, and the run takes little longer than the rate
/// of the cloud requires.
#[test]
fn a_thousand_resources_cause_no_storm() {
    let begun = Instant::now();
    let (mut budget, mut cloud) = (Bucket::new(begun), Cloud { tokens: 50.0, at: begun, granted: false });
    let (mut throttled, mut end) = (0, begun);
    // The next event of each resource: when, which, calls left, attempts of this call.
    let mut events: BinaryHeap<_> = (0..1000).map(|id| Reverse((begun, id, 5_u32, 0_u32))).collect();
    while let Some(Reverse((now, id, left, attempts))) = events.pop() {
        end = now;
        let next = match budget.take(now) {
            Some(wait) => (now + wait, id, left, attempts),
            None if cloud.grants(now) && left == 1 => continue,
            None if cloud.granted => (now + Duration::from_millis(100), id, left - 1, 0),
            None => {
                throttled += 1;
                budget.throttled(now);
                (now + backoff(attempts + 1), id, left, attempts + 1)
            }
        };
        events.push(Reverse(next));
    }
    let (elapsed, ideal) = ((end - begun).as_secs_f64(), 4950.0 / 20.0);
    println!("{throttled} calls were throttled besides 5000; {elapsed:.0} s, at best {ideal:.0} s");
    assert!(throttled < 500, "{throttled} throttled calls");
    assert!(elapsed < ideal * 1.4, "{elapsed} s, at best {ideal} s");
}
