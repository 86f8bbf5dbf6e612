use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use emend_core::Code;
use emend_proto::v1::Passage;

use super::*;
use emend_pages::DomainFilter;

/// A provider with one outcome, which counts its searches.
struct Fixed {
    name: &'static str,
    passages: Option<usize>,
    searches: AtomicUsize,
}

fn fixed(name: &'static str, passages: Option<usize>) -> Arc<Fixed> {
    Arc::new(Fixed {
        name,
        passages,
        searches: AtomicUsize::new(0),
    })
}

impl Provider for Fixed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn search(&self, _: Search, _: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        self.searches.fetch_add(1, Ordering::Relaxed);
        let provider = self.name;
        let outcome = self.passages.map(|count| SearchResults {
            passages: vec![Passage::default(); count],
            provider,
        });
        std::future::ready(outcome.ok_or(SearchError::Failed { provider })).boxed()
    }
}

fn kettle() -> Search {
    Search {
        query: "kettle".to_owned(),
        max_results: 4,
        domains: DomainFilter::default(),
    }
}

async fn search(providers: &[Arc<Fixed>]) -> Result<SearchResults, SearchError> {
    let chain = Chain::new(
        providers
            .iter()
            .map(|provider| Arc::clone(provider) as Arc<dyn Provider>)
            .collect(),
    );
    chain.search(kettle(), emend_testkit::scope()).await
}

#[tokio::test]
async fn the_first_provider_that_finds_something_answers() {
    let providers = [
        fixed("a", None),
        fixed("b", Some(0)),
        fixed("c", Some(2)),
        fixed("d", Some(1)),
    ];
    let found = search(&providers).await.unwrap();
    assert_eq!((found.provider, found.passages.len()), ("c", 2));
    let searches: Vec<usize> = providers
        .iter()
        .map(|provider| provider.searches.load(Ordering::Relaxed))
        .collect();
    assert_eq!(searches, [1, 1, 1, 0]);
}

#[tokio::test]
async fn nothing_found_is_no_error_and_only_errors_are_one() {
    let found = search(&[fixed("a", None), fixed("b", Some(0)), fixed("c", Some(0))])
        .await
        .unwrap();
    assert_eq!((found.provider, found.passages.len()), ("b", 0));
    let error = search(&[fixed("a", None), fixed("b", None)]).await.unwrap_err();
    assert!(
        error.code() == Code::Unavailable && error.to_string().contains("provider a"),
        "{error}"
    );
}

/// A provider that never answers, and keeps how long it was given.
#[derive(Default)]
struct Hanging(Mutex<Vec<Duration>>);

impl Provider for Hanging {
    fn name(&self) -> &'static str {
        "hanging"
    }

    fn search(&self, _: Search, scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        self.0.lock().unwrap().push(scope.deadline.remaining());
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_never_answers_leaves_time_for_those_after_it() {
    let hanging = Arc::new(Hanging::default());
    let chain = Chain::new(vec![
        fixed("broken", None),
        Arc::clone(&hanging) as Arc<dyn Provider>,
        Arc::clone(&hanging) as Arc<dyn Provider>,
        fixed("last", Some(1)),
    ]);
    let scope = Scope {
        deadline: Deadline::after(Duration::from_secs(9)),
        ..emend_testkit::scope()
    };
    let found = chain.search(kettle(), scope.clone()).await.unwrap();
    assert_eq!(found.provider, "last");
    // What the broken one left over is shared too.
    assert_eq!(*hanging.0.lock().unwrap(), [Duration::from_secs(3); 2]);
    assert!(!scope.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_providers_that_never_answer_ends_by_the_deadline() {
    let hanging = || Arc::new(Hanging::default()) as Arc<dyn Provider>;
    let deadline = Deadline::after(Duration::from_secs(9));
    let scope = Scope {
        deadline,
        ..emend_testkit::scope()
    };
    let error = Chain::new(vec![hanging(), hanging()])
        .search(kettle(), scope)
        .await
        .unwrap_err();
    assert!(
        error.code() == Code::Unavailable && error.to_string().contains("share of the time"),
        "{error}"
    );
    assert_eq!(deadline.remaining(), Duration::ZERO);
    assert!(tokio::time::Instant::now() <= deadline.instant() + Duration::from_millis(1));
}
