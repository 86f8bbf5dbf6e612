use super::*;
use crate::{qa::tests::Scripted, score::tests::case};

fn cases() -> Vec<Case> {
    (1..=6)
        .map(|number| case(&number.to_string(), "en", Expect::None, &[]))
        .collect()
}

fn asker(concurrent: usize, stop: &CancellationToken) -> Asker<'_, Scripted, ()> {
    Asker {
        system: &Scripted,
        collection: "made-up",
        concurrent: NonZeroUsize::new(concurrent).unwrap(),
        stop,
        progress: &(),
    }
}

async fn ended(concurrent: usize, stop_at: &str) -> Vec<String> {
    let stop = CancellationToken::new();
    let asker = asker(concurrent, &stop);
    let cases = cases();
    let work = |case: &Case| {
        let id = case.id.clone();
        let stop = stop.clone();
        let stops = id == stop_at;
        async move {
            if stops {
                stop.cancel();
            }
            id
        }
    };
    let mut ids = Vec::new();
    asker
        .each("", cases.iter().collect(), work, |id| {
            ids.push(id);
            Ok(())
        })
        .await
        .unwrap();
    ids
}

#[tokio::test]
async fn what_ended_before_the_stop_is_kept_and_no_more_is_asked() {
    assert_eq!(ended(1, "3").await, ["1", "2", "3"]);
    assert_eq!(ended(1, "never").await.len(), 6);
    assert_eq!(ended(4, "never").await.len(), 6);
}

#[tokio::test]
async fn a_walk_that_hangs_does_not_hold_the_stop() {
    let stop = CancellationToken::new();
    let asker = asker(2, &stop);
    let cases = cases();
    let work = |case: &Case| {
        let hangs = case.id == "1";
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut seen = 0;
    asker
        .each("", cases.iter().collect(), work, |()| {
            seen += 1;
            if seen == 5 {
                stop.cancel();
            }
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(seen, 5);
}
