use std::time::Duration;

use tokio::sync::Semaphore;

use super::*;

/// Records what it embeds. Each call consumes one permit of the gate.
struct Counting {
    gate: Semaphore,
    embedded: Mutex<Vec<String>>,
}

impl Counting {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            gate: Semaphore::new(permits),
            embedded: Mutex::default(),
        })
    }

    fn embedded(&self) -> Vec<String> {
        self.embedded.lock().unwrap().clone()
    }
}

impl Embedder for Counting {
    fn id(&self) -> &str {
        "counting"
    }
    fn dimensions(&self) -> usize {
        2
    }
    fn max_tokens(&self) -> usize {
        8
    }
    fn count_tokens(&self, text: &str) -> usize {
        text.len()
    }
    fn embed<'a>(&'a self, _: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        async move {
            self.gate.acquire().await.unwrap().forget();
            self.embedded.lock().unwrap().extend(texts.iter().cloned());
            Ok(texts
                .iter()
                .map(|text| Embedding::from([text.len() as f32, 1.0]))
                .collect())
        }
        .boxed()
    }
    fn embed_tokens<'a>(
        &'a self,
        _: Input,
        texts: Vec<Vec<String>>,
    ) -> BoxFuture<'a, Result<Option<Vec<Arc<TokenVectors>>>, EmbedError>> {
        async move {
            self.gate.acquire().await.unwrap().forget();
            self.embedded
                .lock()
                .unwrap()
                .extend(texts.iter().map(|pieces| pieces.join("|")));
            let none = |pieces: Vec<String>| {
                let whole = Embedding::from([pieces.len() as f32, 1.0]);
                Arc::new(TokenVectors::new(2, Vec::new(), &[], pieces.len(), whole))
            };
            Ok(Some(texts.into_iter().map(none).collect()))
        }
        .boxed()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn a_text_is_embedded_once_and_the_order_is_kept() {
    let inner = Counting::new(100);
    let cached = Cached::new(inner.clone(), 1);
    let first = cached.embed(Input::Passage, texts(&["aaa", "b", "aaa"])).await.unwrap();
    let second = cached.embed(Input::Passage, texts(&["cc", "b", "aaa"])).await.unwrap();
    let lengths = |embeddings: &[Embedding]| embeddings.iter().map(|e| e[0]).collect::<Vec<_>>();
    assert_eq!(
        (lengths(&first), lengths(&second)),
        (vec![3.0, 1.0, 3.0], vec![2.0, 1.0, 3.0])
    );
    assert_eq!(inner.embedded(), ["aaa", "b", "cc"]);
}

#[tokio::test]
async fn queries_and_passages_have_different_keys() {
    let inner = Counting::new(100);
    let cached = Cached::new(inner.clone(), 1);
    cached.embed(Input::Passage, texts(&["same"])).await.unwrap();
    cached.embed(Input::Query, texts(&["same"])).await.unwrap();
    assert_eq!(inner.embedded(), ["same", "same"]);
}

#[tokio::test]
async fn the_cache_is_bounded_in_bytes() {
    let inner = Counting::new(usize::MAX >> 4);
    let cached = Cached::new(inner.clone(), 1);
    let many: Vec<String> = (0..20_000).map(|n| format!("text {n}")).collect();
    cached.embed(Input::Passage, many).await.unwrap();
    cached.cache.run_pending_tasks();
    let size = cached.cache.weighted_size();
    assert!((1 << 19..=1 << 20).contains(&size), "{size}");
    let nothing = Cached::new(inner.clone(), 0);
    assert_eq!(
        nothing.embed(Input::Passage, texts(&["x", "x"])).await.unwrap().len(),
        2
    );
    nothing.cache.run_pending_tasks();
    assert_eq!(nothing.cache.entry_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_are_coalesced() {
    let inner = Counting::new(0);
    let cached = Arc::new(Cached::new(inner.clone(), 1));
    let one = tokio::spawn({
        let cached = cached.clone();
        async move { cached.embed(Input::Passage, texts(&["a", "shared"])).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let other = tokio::spawn({
        let cached = cached.clone();
        async move { cached.embed(Input::Passage, texts(&["shared", "bb"])).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    inner.gate.add_permits(10);
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    assert_eq!(one[1], other[0]);
    assert_eq!(inner.embedded(), ["a", "shared", "bb"]);
    assert!(lock(&cached.in_flight).is_empty());
}

#[tokio::test(start_paused = true)]
async fn token_vectors_are_cached() {
    let inner = Counting::new(0);
    let cached = Arc::new(Cached::new(inner.clone(), 1));
    let calls: Vec<_> = [["ab", "c"], ["a", "bc"], ["ab", "c"]]
        .map(|pieces| {
            let cached = cached.clone();
            tokio::spawn(async move { cached.embed_tokens(Input::Passage, vec![texts(&pieces)]).await })
        })
        .into_iter()
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    inner.gate.add_permits(10);
    for call in calls {
        let tokens = call.await.unwrap().unwrap().unwrap();
        assert_eq!(tokens[0].whole()[0], 2.0);
    }
    let mut embedded = inner.embedded();
    embedded.sort();
    assert_eq!(embedded, ["ab|c", "a|bc"]);
    // Embeddings and token vectors have different keys.
    cached.embed(Input::Passage, texts(&["ab"])).await.unwrap();
    assert_eq!(inner.embedded().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_takes_over_the_text_of_a_dropped_one() {
    let inner = Counting::new(0);
    let cached = Arc::new(Cached::new(inner.clone(), 1));
    let leaves = tokio::spawn({
        let cached = cached.clone();
        async move { cached.embed(Input::Passage, texts(&["wanted"])).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let stays = tokio::spawn({
        let cached = cached.clone();
        async move { cached.embed(Input::Passage, texts(&["wanted"])).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    leaves.abort();
    tokio::time::sleep(Duration::from_secs(1)).await;
    inner.gate.add_permits(1);
    assert_eq!(stays.await.unwrap().unwrap()[0][0], 6.0);
    assert_eq!(inner.embedded(), ["wanted"]);
}
