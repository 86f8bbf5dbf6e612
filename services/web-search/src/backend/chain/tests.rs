use std::sync::atomic::{AtomicUsize, Ordering};

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

async fn search(providers: &[Arc<Fixed>]) -> Result<SearchResults, SearchError> {
    let chain = Chain::new(
        providers
            .iter()
            .map(|provider| Arc::clone(provider) as Arc<dyn Provider>)
            .collect(),
    );
    let search = Search {
        query: "kettle".to_owned(),
        max_results: 4,
        domains: DomainFilter::default(),
    };
    chain.search(search, emend_testkit::scope()).await
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
