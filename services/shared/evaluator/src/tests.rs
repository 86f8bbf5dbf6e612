mod adapted;
mod hostile;

use clap::Parser;

use super::*;
use emend_models::embed::HashedEmbedder;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    evaluator: EvaluatorOptions,
}

pub(crate) fn evaluator() -> Evaluator {
    let options = Cli::parse_from(["x"]).evaluator;
    Evaluator::load(Arc::new(HashedEmbedder), &options).unwrap()
}

const BOILER: &str =
    "The boiler was installed in 2019 by Keller Ltd. It heats twelve flats. It is serviced every spring.";
const GARDEN: &str = "Roses stand along the wall. They are cut back in March.";

#[tokio::test]
async fn a_passage_with_the_answer_is_more_relevant() {
    let scores = evaluator()
        .relevance(
            "When was the boiler installed?",
            &[GARDEN, BOILER, ""].map(PassageText::from),
        )
        .await
        .unwrap();
    assert!(scores[1] > 0.5 && scores[0] < 0.5 && scores[2] == 0.0, "{scores:?}");
    assert!(evaluator().relevance("When?", &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_passage_scores_as_its_best_section() {
    let evaluator = evaluator();
    let asked = "When was the boiler installed?";
    let book = format!("# House\n\n## Garden\n{GARDEN}\n\n## Heating\n{BOILER}\n");
    let section = format!("## Heating\n{BOILER}\n");
    let scores = evaluator
        .relevance(asked, &[GARDEN, &book, &section].map(PassageText::from))
        .await
        .unwrap();
    assert!(scores[1] > scores[0] && scores[1] == scores[2], "{scores:?}");

    let sentences = evaluator
        .best_sentences(asked, &["", &book].map(PassageText::from))
        .await
        .unwrap();
    assert_eq!(sentences[0].passage, 1);
    assert_eq!(
        &book[sentences[0].range.clone()],
        "The boiler was installed in 2019 by Keller Ltd."
    );

    let claim = "The boiler was installed in 2019 by Keller.";
    let grounded = evaluator.groundedness(asked, claim, &[GARDEN, &book]).await.unwrap();
    assert_eq!(grounded.passage, Some(1), "{grounded:?}");

    let pair = Pair::Relevance {
        question: asked,
        passage: PassageText::from(book.as_str()),
    };
    assert_eq!(evaluator.explain(pair).await.unwrap()[0].probability, scores[1]);
}

#[tokio::test]
async fn the_sentence_with_the_answer_comes_first() {
    let passages = [GARDEN, BOILER];
    let scores = evaluator()
        .best_sentences("When was the boiler installed?", &passages.map(PassageText::from))
        .await
        .unwrap();
    assert_eq!(scores.len(), 5);
    assert_eq!(
        &passages[scores[0].passage][scores[0].range.clone()],
        "The boiler was installed in 2019 by Keller Ltd."
    );
    let zh = ["花园里有玫瑰。锅炉是2019年安装的。"];
    let scores = evaluator()
        .best_sentences("锅炉是哪一年安装的？", &zh.map(PassageText::from))
        .await
        .unwrap();
    assert_eq!(&zh[0][scores[0].range.clone()], "锅炉是2019年安装的。");
}

#[tokio::test]
async fn headings_and_questions_score_zero() {
    let faq =
        ["# Who approves leave?\n\nWho approves leave in July?\n\nAsk the front desk.\n\n## Who approves leave\n"];
    let scores = evaluator()
        .best_sentences("Who approves leave?", &faq.map(PassageText::from))
        .await
        .unwrap();
    assert_eq!(&faq[0][scores[0].range.clone()], "Ask the front desk.");
    assert_eq!(scores.len(), 4);
    assert!(
        scores[0].probability > 0.0 && scores[1..].iter().all(|score| score.probability == 0.0),
        "{scores:?}"
    );
}

#[tokio::test]
async fn the_sentence_after_a_question_answers_it() {
    let faq = [
        "**How long does a charge last?**\nUp to a day.\n\n**How do I reset the charger?**\nHold both buttons. \
                The light turns white.\n\n## Resetting the charger\n\nThe charger of 2019 is reset by the dealer.\n",
    ];
    let best = async |question: &str| {
        let scores = evaluator().best_sentences(question, &faq.map(PassageText::from)).await;
        faq[0][scores.unwrap()[0].range.clone()].to_owned()
    };
    assert_eq!(best("How can I reset the charger?").await, "Hold both buttons.");
    assert_eq!(best("How long does a charge last?").await, "Up to a day.");
}

#[tokio::test]
async fn a_sentence_that_restates_the_question_is_likely_to_answer_it() {
    // A role is not a name, so only the words can match.
    let leave = ["Every employee has 25 days of leave. The team lead approves leave within three days."];
    let scores = evaluator()
        .best_sentences("Who approves leave?", &leave.map(PassageText::from))
        .await
        .unwrap();
    assert_eq!(
        &leave[0][scores[0].range.clone()],
        "The team lead approves leave within three days."
    );
    assert!(scores[0].probability >= 0.5, "{scores:?}");
    // The same words for machines are worth less.
    let line = ["{\"leave\": \"The team lead approves leave within three days.\"}"];
    let marked = evaluator()
        .best_sentences("Who approves leave?", &line.map(PassageText::from))
        .await;
    assert!(marked.unwrap()[0].probability < scores[0].probability / 1.5);
    // Word order matters, and a single word is not enough.
    for (question, says) in [
        ("Who approves leave?", true),
        ("Who leaves approvals?", false),
        ("How does the team lead approve leave?", false),
        ("Who leads?", false),
    ] {
        let question = Question::new(question);
        let sentences = features::answer_sentences(&question, &View::new(leave[0]), None);
        let found = sentences
            .iter()
            .any(|features| features::restates_question(&question, features));
        assert_eq!(found, says, "{}", question.text());
    }
}

#[tokio::test]
async fn a_sentence_that_only_repeats_a_question_for_how_does_not_answer_it() {
    let page = ["2. Back up the collections (below).\n3. Copy the folder to back up a collection.\n"];
    let scores = evaluator()
        .best_sentences("How do I back up a collection?", &page.map(PassageText::from))
        .await
        .unwrap();
    let of = |start: &str| {
        let mut own = scores.iter().filter(|score| score.text.contains(start));
        own.next().map(|score| score.probability)
    };
    assert_eq!(of("below"), Some(0.0), "{scores:?}");
    assert!(of("Copy the folder") > Some(0.0), "{scores:?}");
    for (question, sentence, repeats) in [
        ("How do I back up a collection?", "Back up the collections:", false),
        (
            "How do I back up a collection?",
            "**Back up the collections** (see (5)).",
            true,
        ),
        ("Why are collections backed up?", "Collections are backed up.", true),
        ("Are collections backed up?", "Collections are backed up.", false),
        ("컬렉션을 어떻게 백업합니까?", "컬렉션을 복사합니다.", false),
    ] {
        let question = Question::new(question);
        assert_eq!(features::repeats_question(&question, sentence), repeats, "{sentence}");
    }
}

#[tokio::test]
async fn quotes_are_supported_and_unrelated_claims_are_not() {
    let evaluator = evaluator();
    let quoted = evaluator
        .groundedness("", "It is serviced every spring.", &[GARDEN, BOILER])
        .await
        .unwrap();
    assert_eq!((quoted.level, quoted.passage), (Support::Full, Some(1)));
    let made_up = evaluator
        .groundedness(
            "",
            "The elevator stopped for repairs in October 2021.",
            &[GARDEN, BOILER],
        )
        .await
        .unwrap();
    assert_eq!(made_up.level, Support::No, "{made_up:?}");
    let nothing = evaluator
        .groundedness("", "It is serviced every spring.", &[])
        .await
        .unwrap();
    assert_eq!(
        (nothing.probability, nothing.level, nothing.passage),
        (0.0, Support::No, None)
    );
}

#[tokio::test]
async fn a_wrong_year_lowers_the_score() {
    let evaluator = evaluator();
    let right = evaluator
        .groundedness("", "Keller Ltd installed the boiler in 2019.", &[BOILER])
        .await
        .unwrap();
    let wrong = evaluator
        .groundedness("", "Keller Ltd installed the boiler in 2007.", &[BOILER])
        .await
        .unwrap();
    assert!(right.probability > wrong.probability, "{right:?} {wrong:?}");
}

#[tokio::test]
async fn an_answer_to_the_question_is_more_useful() {
    let evaluator = evaluator();
    let question = "When was the boiler of the house installed?";
    let good = evaluator
        .usefulness(question, "The boiler of the house was installed in 2019.", &[])
        .await
        .unwrap();
    let bad = evaluator
        .usefulness(question, "Roses stand along the wall and are cut back early.", &[])
        .await
        .unwrap();
    assert!(
        good.useful && !bad.useful && good.utility > bad.utility,
        "{good:?} {bad:?}"
    );
    assert!((1..=5).contains(&good.utility) && (1..=5).contains(&bad.utility));
    let none = evaluator.usefulness(question, "I don't know.", &[]).await.unwrap();
    assert_eq!(
        none,
        Usefulness {
            probability: 0.0,
            utility: 1,
            useful: false
        }
    );
}

#[tokio::test]
async fn a_quotation_is_as_useful_as_its_sentence_is_likely_to_answer() {
    let evaluator = evaluator();
    let question = "When was the boiler installed?";
    let passages = [GARDEN, BOILER].map(PassageText::from);
    let sentences = evaluator.best_sentences(question, &passages).await.unwrap();
    for sentence in &sentences {
        let useful = evaluator.usefulness(question, &sentence.text, &passages).await.unwrap();
        let alone = evaluator.usefulness(question, &sentence.text, &[]).await.unwrap();
        assert_eq!(useful.probability, sentence.probability);
        assert_eq!(
            useful.useful,
            alone.useful && sentence.probability >= evaluator.thresholds().quote
        );
    }
    let written = "The boiler was installed in 2019.";
    let alone = evaluator.usefulness(question, written, &[]).await.unwrap();
    assert_eq!(evaluator.usefulness(question, written, &passages).await.unwrap(), alone);
}

#[tokio::test]
async fn a_judgement_can_be_explained() {
    let evaluator = evaluator();
    let question = "When was the boiler installed?";
    let explained = evaluator
        .explain(Pair::Relevance {
            question,
            passage: BOILER.into(),
        })
        .await
        .unwrap();
    let scores = evaluator.relevance(question, &[BOILER.into()]).await.unwrap();
    assert_eq!(
        (explained.len(), explained[0].group, explained[0].probability),
        (1, "alphabet", scores[0])
    );
    assert!(explained[0].features.iter().any(|(name, _)| *name == "cosine_sentence"));
    let sentences = evaluator
        .explain(Pair::Answer {
            question,
            passage: BOILER.into(),
        })
        .await
        .unwrap();
    assert_eq!(sentences.len(), 3);
}

#[tokio::test]
async fn a_file_of_coefficients_replaces_the_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let source = include_str!("coefficients/lexical.toml").replace("[thresholds]", "[thresholds]\n# mine");
    std::fs::write(&path, source).unwrap();
    let options = Cli::parse_from(["x", "--evaluator-coefficients", path.to_str().unwrap()]).evaluator;
    let evaluator = Evaluator::load(Arc::new(HashedEmbedder), &options).unwrap();
    assert_eq!(evaluator.coefficients().name(), path.display().to_string());
}

#[test]
fn changed_coefficients_are_read_again_and_wrong_ones_change_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let source = Coefficients::builtin("lexical").unwrap().to_toml("");
    let write = |useful: &str| {
        let lines = source.lines().map(|line| match line.starts_with("useful") {
            true => format!("useful = {useful}"),
            false => line.to_owned(),
        });
        std::fs::write(file.path(), lines.collect::<Vec<_>>().join("\n")).unwrap();
    };
    write("0.5");
    let watched = Watched::read(CoefficientsFile(file.path().to_owned())).unwrap();
    let useful = || watched.current().thresholds().useful;
    let before = watched.current();
    write("0.625");
    assert!(watched.refresh().unwrap());
    assert_eq!((useful(), before.thresholds().useful), (0.625, 0.5));
    write("much");
    assert!(watched.refresh().unwrap_err().to_string().contains("useful"));
    assert_eq!(useful(), 0.625);
}

#[tokio::test]
async fn long_passages_are_embedded_in_part() {
    let long: String = (0..80)
        .map(|n| format!("Line number {n} says nothing of use here. "))
        .collect();
    let passage = format!("{long}The boiler was installed in 2019.");
    let view = View::new(&passage);
    let question = Question::new("When was the boiler installed?");
    let closest = question.closest(&view, text_pairs::MAX_SENTENCES);
    assert_eq!(closest.len(), text_pairs::MAX_SENTENCES);
    assert_eq!(closest.last(), Some(&80));
    let explained = evaluator()
        .explain(Pair::Answer {
            question: question.text(),
            passage: passage.as_str().into(),
        })
        .await
        .unwrap();
    assert_eq!(explained.len(), 81);
}
