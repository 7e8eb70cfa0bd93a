use super::*;
use crate::fake::{Fake, error};
use std::sync::atomic::AtomicUsize;

/// A hundred times as fast as for users.
const FAST: Pace = Pace {
    settle: Duration::from_millis(300),
    propagate: Duration::from_millis(1200),
    appear: Duration::from_millis(150),
    first: Duration::from_micros(500),
    longest: Duration::from_millis(50),
    report: Duration::from_millis(100),
};

fn op(cancel: &CancellationToken, timeout: Duration) -> Op<Fake> {
    let ctx = Context { cancel: cancel.clone(), ..Context::default() };
    Op::paced(&ctx, "AWS", "warren_aws_vpc \"hub\"", timeout, FAST)
}

fn shown(diagnostics: &Diagnostics) -> String {
    diagnostics.0.iter().map(|d| format!("{}\n{}", d.summary, d.detail)).collect()
}

#[tokio::test]
async fn an_object_not_seen_yet_is_read_again() {
    let reads = AtomicUsize::new(0);
    let found = op(&CancellationToken::new(), Duration::from_secs(60))
        .until("available", || async {
            match reads.fetch_add(1, Ordering::Relaxed) {
                0..3 => Err(error("not found")),
                3..6 => Ok(Poll::Pending("pending".into())),
                _ => Ok(Poll::Ready("vpc-1")),
            }
        })
        .await;
    assert_eq!(found, Ok("vpc-1"));
    assert_eq!(reads.into_inner(), 7);
}

#[tokio::test]
async fn what_must_not_be_repeated_is_asked_for_after_a_lost_answer() {
    let op = op(&CancellationToken::new(), Duration::from_secs(60));
    // The second attempt takes effect, and its answer is lost.
    let puts = AtomicUsize::new(0);
    let done = || async { Ok(puts.load(Ordering::Relaxed) >= 2) };
    let put = || async {
        puts.fetch_add(1, Ordering::Relaxed);
        Err(error("ambiguous"))
    };
    assert_eq!(op.settle("put", done, put).await, Ok(true));
    assert_eq!(puts.load(Ordering::Relaxed), 2);
    assert_eq!(op.settle("put", done, put).await, Ok(false));
    assert_eq!(puts.into_inner(), 2);
    let refused = op.settle("put", || async { Ok(false) }, || async { Err(error("conflict")) }).await;
    assert!(shown(&refused.unwrap_err()).contains("conflict"));
}

#[tokio::test]
async fn the_grace_period_for_not_found_ends() {
    let begun = Instant::now();
    let result: Result<(), _> = op(&CancellationToken::new(), Duration::from_secs(60))
        .call(|| async { Err(error("not found")) })
        .await;
    assert!(result.is_err());
    assert!(begun.elapsed() >= FAST.settle);
}

#[tokio::test]
async fn what_is_on_its_way_is_waited_for() {
    let op = op(&CancellationToken::new(), Duration::from_secs(60));
    let arrival = Instant::now() + FAST.settle * 3;
    let call = || async { if Instant::now() < arrival { Err(error("not found")) } else { Ok("vpc-1") } };
    assert_eq!(op.call_while(call, || async { true }).await, Ok("vpc-1"));
    let never = || async { Err::<(), _>(error("not found")) };
    let begun = Instant::now();
    assert!(op.call_while(never, || async { begun.elapsed() < FAST.settle * 2 }).await.is_err());
    assert!(begun.elapsed() >= FAST.settle * 2);
    let refused = op.call_while(|| async { Err::<(), _>(error("conflict")) }, || async { true }).await;
    assert!(shown(&refused.unwrap_err()).contains("conflict"));
}

#[tokio::test]
async fn an_object_made_late_in_an_operation_is_read_for_as_long() {
    let op = op(&CancellationToken::new(), Duration::from_secs(60));
    tokio::time::sleep(FAST.settle * 2).await;
    let calls = AtomicUsize::new(0);
    let answer = || async {
        match calls.fetch_add(1, Ordering::Relaxed) % 3 {
            0..2 => Err(error("not found")),
            _ => Ok(()),
        }
    };
    assert_eq!(op.call(answer).await, Ok(()));
    assert_eq!(op.release(answer).await, Ok(()));
    let read = || async { answer().await.map(Poll::Ready) };
    assert_eq!(op.until("available", read).await, Ok(()));
    assert_eq!(calls.into_inner(), 9);
}

#[tokio::test]
async fn what_is_in_use_is_released_until_the_deadline() {
    let begun = Instant::now();
    let timeout = Duration::from_millis(200);
    let result: Result<(), _> =
        op(&CancellationToken::new(), timeout).release(|| async { Err(error("in use")) }).await;
    insta::assert_snapshot!(shown(&result.unwrap_err()));
    assert!(begun.elapsed() >= timeout);
}

#[tokio::test]
async fn a_wait_times_out() {
    let result: Result<(), _> = op(&CancellationToken::new(), Duration::from_secs(1))
        .until::<(), _>("available", || async { Ok(Poll::Pending("pending".into())) })
        .await;
    insta::assert_snapshot!(shown(&result.unwrap_err()));
}

#[tokio::test]
async fn a_stopped_run_stops_waiting_at_once() {
    let cancel = CancellationToken::new();
    let begun = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    };
    let op = op(&cancel, Duration::from_secs(600));
    let (result, ()) =
        tokio::join!(op.until::<(), _>("available", || async { Ok(Poll::Pending("pending".into())) }), stop);
    insta::assert_snapshot!(shown(&result.unwrap_err()));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn what_is_gone_is_gone() {
    let reads = AtomicUsize::new(0);
    let result = op(&CancellationToken::new(), Duration::from_secs(60))
        .until_gone(|| async {
            match reads.fetch_add(1, Ordering::Relaxed) {
                0..2 => Ok(()),
                _ => Err(error("not found")),
            }
        })
        .await;
    assert_eq!(result, Ok(()));
    assert_eq!(reads.into_inner(), 3);
}

#[tokio::test]
async fn an_object_that_is_shown_and_unknown_to_the_delete_is_deleted_again() {
    let deletes = AtomicUsize::new(0);
    let result = op(&CancellationToken::new(), Duration::from_secs(5))
        .delete(
            || async {
                match deletes.fetch_add(1, Ordering::Relaxed) {
                    0..2 => Err(error("not found")),
                    _ => Ok(()),
                }
            },
            || async { if deletes.load(Ordering::Relaxed) < 3 { Ok(()) } else { Err(error("not found")) } },
        )
        .await;
    assert_eq!(result, Ok(()));
    assert_eq!(deletes.into_inner(), 3);
}

/// Whatever a poll is answered meanwhile, the wait ends when the object is as wanted.
#[tokio::test]
async fn no_failed_poll_ends_a_wait() {
    let polls = AtomicUsize::new(0);
    let op = op(&CancellationToken::new(), Duration::from_secs(60));
    let read = || async {
        match polls.fetch_add(1, Ordering::Relaxed) {
            0..4 => Err(error("throttled")),
            4 => Ok(Poll::Pending("pending".into())),
            5 => Err(error("ambiguous")),
            6 => Err(error("not ready")),
            7 => Err(error("unpropagated")),
            _ => Ok(Poll::Ready(())),
        }
    };
    assert_eq!(op.until("available", read).await, Ok(()));
    assert_eq!(polls.into_inner(), 9);
    let refused = op.until::<(), _>("available", || async { Err(error("conflict")) }).await;
    assert!(shown(&refused.unwrap_err()).contains("conflict"));
}

/// Throttling lasts until the deadline, an unknown identity does not.
#[tokio::test]
async fn only_what_another_party_ends_is_waited_for_until_the_deadline() {
    let timeout = FAST.propagate * 2;
    for (code, lasts) in [("throttled", timeout), ("not ready", timeout), ("unpropagated", FAST.propagate)] {
        let begun = Instant::now();
        let op = op(&CancellationToken::new(), timeout);
        assert!(op.call(|| async { Err::<(), _>(error(code)) }).await.is_err());
        assert!(begun.elapsed() >= lasts && begun.elapsed() < lasts + timeout / 4, "{code}");
    }
}
