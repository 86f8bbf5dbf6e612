use super::*;

#[tokio::test]
async fn the_same_options_share_one_embedder_while_it_lives() {
    let options = EmbedderOptions {
        embedder_cache_mib: 3,
        ..EmbedderOptions::of(EmbedderChoice::Hashed)
    };
    let (one, other) = tokio::join!(load(&options, Progress::none()), load(&options, Progress::none()));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!(Arc::ptr_eq(&one, &other));
    let different = EmbedderOptions {
        embedder_cache_mib: 4,
        ..options.clone()
    };
    assert!(!Arc::ptr_eq(&one, &load(&different, Progress::none()).await.unwrap()));
    let weak = Arc::downgrade(&one);
    drop((one, other));
    assert!(weak.upgrade().is_none(), "the registry keeps the weights alive");
}
