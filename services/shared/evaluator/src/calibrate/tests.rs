use super::*;
use crate::{EvaluatorOptions, PassageText};
use emend_models::embed::HashedEmbedder;
use std::sync::Arc;

const TARGETS: Targets = Targets {
    precision: 0.9,
    recall: 0.9,
};

fn calibrator() -> Calibrator {
    let options = EvaluatorOptions::default();
    Calibrator::new(Evaluator::load(Arc::new(HashedEmbedder), &options).unwrap())
}

const THINGS: [&str; 8] = [
    "mill", "boiler", "ferry", "garden", "bridge", "tower", "school", "harbour",
];
const PLACES: [&str; 8] = [
    "Keller", "Norden", "Altona", "Bergen", "Lund", "Malta", "Turin", "Cadiz",
];

/// Questions about things at places, each with a passage that answers it and one about something else.
async fn add_relevance(calibrator: &mut Calibrator) {
    for (n, (thing, place)) in THINGS.iter().flat_map(|t| PLACES.map(|p| (*t, p))).enumerate() {
        let question = format!("When was the {thing} of {place} built?");
        let right = format!(
            "The {thing} of {place} was built in 19{:02}. It is open in summer.",
            n % 90 + 10
        );
        let wrong = format!("Roses grow along the wall number {n}. They are cut back in March.");
        for (passage, label) in [(&right, true), (&wrong, false)] {
            let pair = Pair::Relevance {
                question: &question,
                passage: passage.as_str().into(),
            };
            let observed = calibrator.observe(pair).await.unwrap();
            calibrator.add("made", pair, observed, &[label], None);
        }
    }
}

#[tokio::test]
async fn words_alone_can_be_fitted() {
    let mut calibrator = calibrator().words_only(true);
    add_relevance(&mut calibrator).await;
    let across = Pair::Relevance {
        question: "등대는 누가 설계했습니까?",
        passage: "Knead the dough for ten minutes.".into(),
    };
    let observed = calibrator.observe(across).await.unwrap();
    calibrator.add("made", across, observed, &[true], None);
    let calibration = calibrator.finish(TARGETS);
    assert_eq!(
        calibration.models.len(),
        1,
        "words of two languages say nothing of each other"
    );
    let file = calibration.coefficients.to_toml("");
    assert!(
        !file.contains("cosine") && !file.contains(".cross]") && file.contains("sentence_overlap"),
        "{file}"
    );
    assert!(metrics::roc_auc(&calibration.models[0].judgements()).unwrap() > 0.99);
}

#[tokio::test]
async fn fitted_coefficients_separate_pairs_and_round_trip_through_a_file() {
    let mut calibrator = calibrator();
    add_relevance(&mut calibrator).await;
    let recall = 0.25;
    let calibration = calibrator.finish(Targets { recall, ..TARGETS });
    let [model] = calibration.models.as_slice() else {
        panic!("{:?}", calibration.models.len())
    };
    assert_eq!((model.task, model.group, model.fitted), ("relevance", "alphabet", true));
    assert_eq!(model.judged.len(), 128);
    assert!(metrics::roc_auc(&model.judgements()).unwrap() > 0.99);
    let thresholds = calibration.coefficients.thresholds();
    assert!(thresholds.lower <= thresholds.relevant && thresholds.relevant <= thresholds.upper);
    let relevant = metrics::threshold_for_recall(&model.judgements(), recall).unwrap();
    assert!(
        (thresholds.relevant - relevant.threshold).abs() <= 0.0005,
        "{thresholds:?} {relevant:?}"
    );
    let best = metrics::best_f1(&model.judgements()).unwrap().threshold;
    assert!(
        best < thresholds.relevant - 0.0005,
        "it is another: {best} {relevant:?}"
    );

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        calibration.coefficients.to_toml("Made for a test.\nIn two lines."),
    )
    .unwrap();
    let read = Coefficients::read(file.path()).unwrap();
    assert_eq!(read.thresholds(), thresholds);
    let scores = |coefficients: Coefficients| async {
        let evaluator = Evaluator::new(Arc::new(HashedEmbedder), coefficients);
        let passages = ["The mill of Norden was built in 1932.", "Roses grow along the wall."].map(PassageText::from);
        evaluator
            .relevance("When was the mill of Norden built?", &passages)
            .await
            .unwrap()
    };
    let (before, after) = (scores(calibration.coefficients.clone()).await, scores(read).await);
    assert!(
        before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 0.01),
        "{before:?} {after:?}"
    );
    assert!(after[0] > 0.8 && after[1] < 0.2, "{after:?}");
}

#[tokio::test]
async fn too_few_pairs_change_nothing() {
    let mut calibrator = calibrator();
    let before = Coefficients::builtin("hashed-256").unwrap();
    for n in 0..30 {
        let answer = format!("It was built in 19{n}.");
        let pair = Pair::Usefulness {
            question: "When was it built?",
            answer: &answer,
        };
        let observed = calibrator.observe(pair).await.unwrap();
        calibrator.add("made", pair, observed, &[n % 2 == 0], None);
    }
    let calibration = calibrator.finish(TARGETS);
    assert!(
        calibration
            .models
            .iter()
            .all(|model| !model.fitted && model.judged.len() == 30)
    );
    assert_eq!(calibration.coefficients.thresholds(), before.thresholds());
}

#[test]
fn the_middle_of_equally_good_thresholds_is_chosen() {
    // 700 positives of 1000 deviate by 14.5 by chance.
    let outcomes = [
        (0.1, 600),
        (0.2, 690),
        (0.3, 692),
        (0.4, 691),
        (0.5, 700),
        (0.6, 690),
        (0.7, 685),
    ];
    assert_eq!(super::contests::middle_of_best(&outcomes, 1000), Some(0.4));
    assert_eq!(
        super::contests::middle_of_best(&[(0.1, 3), (0.2, 9), (0.3, 2)], 10),
        Some(0.2)
    );
    assert_eq!(super::contests::middle_of_best(&[(0.1, 0), (0.2, 0)], 10), None);
}

#[tokio::test]
async fn the_threshold_of_answers_counts_passages_without_one() {
    let mut calibrator = calibrator();
    for (n, (thing, place)) in THINGS.iter().flat_map(|t| PLACES.map(|p| (*t, p))).enumerate() {
        let question = format!("When was the {thing} of {place} built?");
        let with = format!(
            "Many came. The {thing} of {place} was built in 19{:02}. It rains.",
            n % 90 + 10
        );
        let without = "Many came. Roses grow along the wall. It rains.";
        for (passage, labels) in [(with.as_str(), [false, true, false]), (without, [false; 3])] {
            let pair = Pair::Answer {
                question: &question,
                passage: passage.into(),
            };
            let observed = calibrator.observe(pair).await.unwrap();
            calibrator.add("made", pair, observed, &labels, None);
        }
    }
    let calibration = calibrator.finish(TARGETS);
    let evaluator = Evaluator::new(Arc::new(HashedEmbedder), calibration.coefficients.clone());
    let passages = [
        "Snow fell. The mill of Lund was built in 1711.",
        "Snow fell. Roses grow.",
    ]
    .map(PassageText::from);
    let scores = evaluator
        .best_sentences("When was the mill of Lund built?", &passages)
        .await
        .unwrap();
    let threshold = calibration.coefficients.thresholds().answers;
    assert!(scores[0].passage == 0 && scores[0].range.start > 0, "{scores:?}");
    assert!(
        scores[0].probability >= threshold && scores[1].probability < threshold,
        "{scores:?} {threshold}"
    );
}
