use super::*;
use crate::embed::cosine;

async fn embed(texts: &[&str]) -> Vec<Embedding> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    HashedEmbedder.embed(Input::Passage, texts).await.unwrap()
}

#[tokio::test]
async fn texts_that_share_words_are_more_similar() {
    for (question, near, far) in [
        (
            "How tall is the old lighthouse?",
            "The old lighthouse is 31 metres tall.",
            "Bread needs flour and yeast.",
        ),
        (
            "오래된 등대의 높이는?",
            "오래된 등대의 높이는 31미터이다.",
            "빵에는 밀가루와 효모가 필요하다.",
        ),
        (
            "古い灯台の高さは？",
            "古い灯台の高さは31メートルです。",
            "パンには小麦粉と酵母が必要です。",
        ),
        ("旧灯塔有多高？", "旧灯塔高三十一米。", "面包需要面粉和酵母。"),
    ] {
        let vectors = embed(&[question, near, far]).await;
        let (near, far) = (cosine(&vectors[0], &vectors[1]), cosine(&vectors[0], &vectors[2]));
        assert!(near > far + 0.15, "{question}: {near} against {far}");
    }
}

#[tokio::test]
async fn embeddings_are_unit_vectors_and_the_same_each_time() {
    let text = "Rain fell on the harbour for nine days.";
    let vectors = embed(&[text, text, ""]).await;
    assert_eq!(vectors[0], vectors[1]);
    assert_eq!(vectors[0].len(), DIMENSIONS);
    assert!((vectors[0].iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
    assert!(vectors[2].iter().all(|v| *v == 0.0));
    // A change of the hash would silently invalidate every stored collection.
    let first: Vec<usize> = (0..DIMENSIONS).filter(|i| vectors[0][*i] != 0.0).take(4).collect();
    assert_eq!(first, [2, 5, 8, 9]);
}

#[tokio::test]
async fn case_and_width_do_not_matter() {
    let vectors = embed(&["LIGHTHOUSE ３１", "lighthouse 31"]).await;
    assert_eq!(vectors[0], vectors[1]);
}
