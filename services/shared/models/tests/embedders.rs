//! The embedders with their real weights, which are fetched once and kept in the user's cache.
#![cfg(feature = "local")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use emend_models::{
    embed::{Embedder, EmbedderChoice, EmbedderOptions, Embedding, Input, ModelError, Precision, cosine, load},
    progress::Progress,
};
use futures::future::{join, join_all};

async fn embedder(choice: EmbedderChoice) -> Arc<dyn Embedder> {
    load(&EmbedderOptions::of(choice), Progress::none()).await.unwrap()
}

async fn embed(embedder: &dyn Embedder, kind: Input, texts: &[&str]) -> Vec<Embedding> {
    embedder
        .embed(kind, texts.iter().map(|text| (*text).to_owned()).collect())
        .await
        .unwrap()
}

/// A question and the passage that answers it, in four languages, about four things.
const PAIRS: [[(&str, &str); 4]; 4] = [
    [
        (
            "How tall is the lighthouse at Varn Point?",
            "Built in 1871, the Varn Point lighthouse rises 31 metres above the rocks and can be seen from far out at sea.",
        ),
        (
            "바른곶 등대의 높이는 얼마인가요?",
            "1871년에 세워진 바른곶 등대는 바위 위로 31미터 솟아 있으며 먼바다에서도 보인다.",
        ),
        (
            "ヴァルン岬の灯台の高さはどのくらいですか？",
            "1871年に建てられたヴァルン岬灯台は岩の上に31メートルそびえ、遠い沖からも見える。",
        ),
        (
            "瓦恩角灯塔有多高？",
            "瓦恩角灯塔建于1871年，高出礁石三十一米，在远海也能看到。",
        ),
    ],
    [
        (
            "What makes bread dough rise?",
            "Yeast turns the sugars of the flour into carbon dioxide, and the bubbles lift the loaf before it is baked.",
        ),
        (
            "빵 반죽은 왜 부풀어 오르나요?",
            "효모가 밀가루의 당을 이산화탄소로 바꾸고, 그 기포가 굽기 전의 빵을 부풀게 한다.",
        ),
        (
            "パン生地が膨らむのはなぜですか？",
            "酵母が小麦粉の糖を二酸化炭素に変え、その気泡が焼く前の生地を持ち上げる。",
        ),
        (
            "面团为什么会发起来？",
            "酵母把面粉里的糖变成二氧化碳，气泡使面团在烘烤之前膨胀。",
        ),
    ],
    [
        (
            "Who may borrow books from the village library?",
            "Anyone who lives in the parish gets a reader's card free of charge and may take five volumes home for a month.",
        ),
        (
            "마을 도서관에서 누가 책을 빌릴 수 있나요?",
            "이 지역에 사는 사람은 누구나 무료로 열람증을 받아 다섯 권을 한 달 동안 집에 가져갈 수 있다.",
        ),
        (
            "村の図書館では誰が本を借りられますか？",
            "この地区に住む人は誰でも無料で利用カードを作り、五冊を一か月間家に持ち帰ることができる。",
        ),
        (
            "谁可以从村图书馆借书？",
            "住在本地的任何人都可以免费办理借书证，把五本书带回家一个月。",
        ),
    ],
    [
        (
            "When does frost damage apple blossom?",
            "Open flowers of apple trees die when the night falls below minus two degrees, so growers light small fires in April.",
        ),
        (
            "사과꽃은 언제 서리 피해를 입나요?",
            "사과나무의 핀 꽃은 밤 기온이 영하 2도 아래로 내려가면 얼어 죽기 때문에 농부들은 4월에 작은 불을 피운다.",
        ),
        (
            "りんごの花はいつ霜の被害を受けますか？",
            "りんごの開いた花は夜の気温が氷点下二度を下回ると枯れるので、農家は四月に小さな火をたく。",
        ),
        (
            "苹果花什么时候会受霜冻？",
            "夜间气温低于零下两度时，苹果树盛开的花会冻死，所以果农在四月点起小火。",
        ),
    ],
];

/// In each of `languages` the passage that answers must be the nearest of all four, by at least `margin`.
async fn the_answer_is_the_nearest(embedder: &dyn Embedder, languages: std::ops::Range<usize>, margin: f32) {
    for language in languages {
        let questions = PAIRS.map(|topic| topic[language].0);
        let passages = PAIRS.map(|topic| topic[language].1);
        let questions_embedded = embed(embedder, Input::Query, &questions).await;
        let passages_embedded = embed(embedder, Input::Passage, &passages).await;
        for (asked, question) in questions_embedded.iter().enumerate() {
            let near = cosine(question, &passages_embedded[asked]);
            for (other, passage) in passages_embedded
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != asked)
            {
                let far = cosine(question, passage);
                assert!(
                    near > far + margin,
                    "{}: {near} with its answer, {far} with {}",
                    questions[asked],
                    passages[other]
                );
            }
        }
    }
}

#[tokio::test]
async fn e5_finds_the_answer_in_four_languages_and_across_them() {
    let e5 = embedder(EmbedderChoice::E5Small).await;
    assert_eq!(
        (e5.id(), e5.dimensions(), e5.max_tokens()),
        ("multilingual-e5-small", 384, 507)
    );
    the_answer_is_the_nearest(&*e5, 0..4, 0.03).await;
    for topic in PAIRS {
        let passages = PAIRS.map(|topic| topic[0].1);
        let passages = embed(&*e5, Input::Passage, &passages).await;
        for language in 1..4 {
            let question = embed(&*e5, Input::Query, &[topic[language].0]).await;
            let nearest = (0..4)
                .max_by(|a, b| cosine(&question[0], &passages[*a]).total_cmp(&cosine(&question[0], &passages[*b])));
            assert_eq!(PAIRS[nearest.unwrap()][0].1, topic[0].1, "{}", topic[language].0);
        }
    }
}

/// By how much each question is nearer to its answer in another language than to the nearest other passage in its own, on
/// average.
async fn lead_across_languages(embedder: &dyn Embedder, query: Input, passage: Input) -> f32 {
    let (mut sum, mut count) = (0.0, 0.0);
    for language in 0..4 {
        let questions = embed(embedder, query, &PAIRS.map(|topic| topic[language].0)).await;
        let own = embed(embedder, passage, &PAIRS.map(|topic| topic[language].1)).await;
        for other in (0..4).filter(|other| *other != language) {
            let answers = embed(embedder, passage, &PAIRS.map(|topic| topic[other].1)).await;
            for (topic, question) in questions.iter().enumerate() {
                let others = own.iter().enumerate().filter(|(index, _)| *index != topic);
                let nearest = others.map(|(_, other)| cosine(question, other)).fold(-1.0, f32::max);
                sum += cosine(question, &answers[topic]) - nearest;
                count += 1.0;
            }
        }
    }
    sum / count
}

#[tokio::test]
async fn a_search_finds_answers_in_other_languages_better_than_the_model_as_it_is() {
    let e5 = embedder(EmbedderChoice::E5Small).await;
    let search = lead_across_languages(&*e5, Input::Query, Input::Passage).await;
    let as_it_is = lead_across_languages(&*e5, Input::Claim, Input::Evidence).await;
    assert!(search > as_it_is + 0.02, "{search} and {as_it_is}");
    assert_ne!(
        e5.space(),
        e5.id(),
        "vectors of the model as it is would be compared with those of a search"
    );
}

#[tokio::test]
async fn minilm_finds_the_answer_in_english() {
    let minilm = embedder(EmbedderChoice::MiniLm).await;
    assert_eq!(
        (minilm.id(), minilm.dimensions(), minilm.max_tokens()),
        ("all-MiniLM-L6-v2", 384, 254)
    );
    the_answer_is_the_nearest(&*minilm, 0..1, 0.2).await;
}

#[tokio::test]
async fn eight_bits_find_what_floats_find() {
    let with = |embedder_precision| EmbedderOptions {
        embedder_precision,
        ..EmbedderOptions::of(EmbedderChoice::E5Small)
    };
    let int8 = match load(&with(Precision::Int8), Progress::none()).await {
        Ok(int8) => int8,
        Err(error) => {
            assert!(
                matches!(
                    &error,
                    ModelError::Option {
                        option: "embedder-precision",
                        ..
                    }
                ),
                "{error}"
            );
            return;
        }
    };
    the_answer_is_the_nearest(&*int8, 0..4, 0.03).await;
    let f32 = load(&with(Precision::F32), Progress::none()).await.unwrap();
    let texts = PAIRS.map(|topic| topic.map(|(_, passage)| passage)).concat();
    for kind in [Input::Evidence, Input::Passage, Input::Answer] {
        let exact = embed(&*f32, kind, &texts).await;
        let rounded = embed(&*int8, kind, &texts).await;
        for ((text, exact), rounded) in texts.iter().zip(&exact).zip(&rounded) {
            let near = cosine(exact, rounded);
            assert!(near > 0.999, "{near}: {text}");
        }
    }
}

#[tokio::test]
async fn a_text_has_the_same_embedding_whatever_it_is_embedded_with() {
    for choice in [EmbedderChoice::E5Small, EmbedderChoice::MiniLm] {
        // A cache would answer the second time.
        let options = EmbedderOptions {
            embedder_cache_mib: 0,
            ..EmbedderOptions::of(choice)
        };
        let embedder = load(&options, Progress::none()).await.unwrap();
        let long = PAIRS[0][0].1.repeat(12);
        let (one, other) = (PAIRS[0][0].1, long.as_str());
        let alone = embed(&*embedder, Input::Passage, &[one]).await;
        let again = embed(&*embedder, Input::Passage, &[one]).await;
        let among = embed(&*embedder, Input::Passage, &["", "x", one, other, PAIRS[1][1].1]).await;
        assert_eq!(alone, again);
        let gap = alone[0]
            .iter()
            .zip(among[2].iter())
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(gap < 1e-5, "{gap}");
        for vector in &among {
            assert!((vector.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-4);
        }
    }
}

#[tokio::test]
async fn tokens_are_counted_and_too_many_are_cut() {
    for choice in [EmbedderChoice::E5Small, EmbedderChoice::MiniLm] {
        let embedder = embedder(choice).await;
        assert_eq!(embedder.count_tokens(""), 0);
        assert_eq!(embedder.count_tokens("the sea"), 2);
        let limit = embedder.max_tokens();
        let fits = "sea ".repeat(limit);
        assert_eq!(embedder.count_tokens(&fits), limit);
        let longer = format!("{fits}{}", "bread ".repeat(90_000));
        let vectors = embed(&*embedder, Input::Query, &[&fits, &longer, &fits[4..]]).await;
        assert_eq!(vectors[0], vectors[1]);
        assert_ne!(vectors[0], vectors[2]);
    }
}

#[tokio::test]
async fn leaving_early_leaves_the_embedder_usable() {
    let options = EmbedderOptions {
        embedder_cache_mib: 1,
        ..EmbedderOptions::of(EmbedderChoice::MiniLm)
    };
    let embedder = load(&options, Progress::none()).await.unwrap();
    let many: Vec<String> = (0..2000).map(|n| format!("{n} {}", PAIRS[0][0].1)).collect();
    let all = embedder.embed(Input::Passage, many);
    assert!(
        tokio::time::timeout(std::time::Duration::from_millis(50), all)
            .await
            .is_err(),
        "2000 texts in no time"
    );
    // Were the rest still computed, this would have to wait for it.
    let one = tokio::time::timeout(
        std::time::Duration::from_secs(10),
        embed(&*embedder, Input::Query, &["harbour"]),
    );
    assert_eq!(one.await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_question_goes_before_documents_that_wait_to_be_stored() {
    const DOCUMENTS: usize = 24;
    let options = EmbedderOptions {
        embedder_threads: NonZeroUsize::new(1),
        ..EmbedderOptions::of(EmbedderChoice::E5Small)
    };
    let embedder = load(&options, Progress::none()).await.unwrap();
    let stored = AtomicUsize::new(0);
    let documents = (0..DOCUMENTS).map(|number| {
        let text = format!("Passage {number} says little, and it says it at length. ").repeat(20);
        let embedding = embedder.embed(Input::Passage, vec![text]);
        let stored = &stored;
        async move {
            embedding.await.unwrap();
            stored.fetch_add(1, Ordering::SeqCst);
        }
    });
    let question = async {
        embed(&*embedder, Input::Query, &["What does passage 3 say?"]).await;
        stored.load(Ordering::SeqCst)
    };
    // All documents are asked for before the question is.
    let (_, before) = join(join_all(documents), question).await;
    assert!(
        before < DOCUMENTS / 2,
        "{before} of {DOCUMENTS} were stored before the question was embedded"
    );
    assert_eq!(stored.into_inner(), DOCUMENTS);
}
