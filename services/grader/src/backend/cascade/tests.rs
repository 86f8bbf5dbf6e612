use std::sync::Mutex;

use emend_proto::v1::Usage;

use super::*;
use crate::backend::Ungraded;

/// Grades everything by the number that its text begins with; "?" cannot be graded. Remembers what it was asked.
struct Numbers {
    thresholds: Thresholds,
    asked: Mutex<Vec<String>>,
    /// Added to each score.
    shift: f64,
}

impl Numbers {
    fn new(lower: f64, relevance: f64, upper: f64, shift: f64) -> Arc<Self> {
        Arc::new(Self {
            thresholds: Thresholds {
                relevance,
                upper,
                lower,
                strip: lower,
            },
            asked: Mutex::default(),
            shift,
        })
    }

    fn grade(&self, text: &str) -> Grade<f64> {
        self.asked.lock().unwrap().push(text.to_owned());
        let number = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        match number {
            Some(number) => Grade::Graded((number + self.shift).clamp(0.0, 1.0)),
            None => Grade::Ungraded(Ungraded::OutOfTime),
        }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn answer<'a, T: Send + 'a>(&self, grades: T) -> BoxFuture<'a, Graded<T>> {
        let usage = Usage {
            model_calls: 1,
            ..Usage::default()
        };
        Box::pin(std::future::ready(Graded { grades, usage }))
    }
}

fn mapped<T, U>(grade: Grade<T>, map: impl FnOnce(T) -> U) -> Grade<U> {
    match grade {
        Grade::Graded(grade) => Grade::Graded(map(grade)),
        Grade::Ungraded(reason) => Grade::Ungraded(reason),
    }
}

impl Backend for Numbers {
    fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    fn relevance<'a>(
        &'a self,
        _: &'a str,
        passages: &'a [Passage],
        _: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        self.answer(passages.iter().map(|passage| self.grade(&passage.text)).collect())
    }

    fn groundedness<'a>(
        &'a self,
        _: &'a str,
        sentences: &'a [&'a str],
        _: &'a [Passage],
        _: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<Groundedness>>>> {
        let grade = |sentence: &&str| {
            mapped(self.grade(sentence), |score| Groundedness {
                score,
                fully: score,
                partially: 0.0,
                level: match score {
                    score if score >= self.thresholds.upper => Support::Full,
                    score if score >= self.thresholds.lower => Support::Partial,
                    _ => Support::No,
                },
            })
        };
        self.answer(sentences.iter().map(grade).collect())
    }

    fn usefulness<'a>(
        &'a self,
        _: &'a str,
        answer: &'a str,
        _: &'a [Passage],
        _: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Usefulness>>> {
        self.answer(mapped(self.grade(answer), |score| Usefulness {
            utility: 3,
            expected: 3.0,
            score,
            useful: score > 0.5,
        }))
    }

    fn strips<'a>(
        &'a self,
        _: &'a str,
        passages: &'a [Strips<'a>],
        _: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        let texts = passages.iter().flat_map(|strips| strips.texts.iter());
        self.answer(texts.map(|text| self.grade(text)).collect())
    }

    fn retrieval<'a>(
        &'a self,
        _: &'a str,
        answer_so_far: &'a str,
        _: &'a [Passage],
        _: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Retrieval>>> {
        self.answer(mapped(self.grade(answer_so_far), |yes| Retrieval {
            yes,
            continues: 0.0,
        }))
    }
}

fn passages(texts: &[&str]) -> Vec<Passage> {
    let passage = |text: &&str| Passage {
        text: (*text).to_owned(),
        ..Passage::default()
    };
    texts.iter().map(passage).collect()
}

fn scores(grades: &[Grade<f64>]) -> Vec<Option<f64>> {
    grades.iter().map(|grade| grade.graded().copied()).collect()
}

/// A first backend that is sure below 0.3 and from 0.7, and a second one that sees 0.4 more in everything.
fn cascade() -> (Arc<Numbers>, Arc<Numbers>, CascadeBackend) {
    let (first, second) = (Numbers::new(0.3, 0.5, 0.7, 0.0), Numbers::new(0.3, 0.5, 0.7, 0.4));
    let cascade = CascadeBackend::new(first.clone(), second.clone());
    (first, second, cascade)
}

#[tokio::test]
async fn only_doubtful_passages_are_graded_twice_and_the_order_is_kept() {
    let (_, second, cascade) = cascade();
    let passages = passages(&["0.9 sure", "0.4 doubtful", "0.1 sure", "0.3 doubtful", "0.7 sure"]);
    let graded = cascade.relevance("q", &passages, &emend_testkit::scope()).await;
    assert_eq!(second.asked(), ["0.4 doubtful", "0.3 doubtful"]);
    let near = scores(&graded.grades).into_iter().zip([0.9, 0.8, 0.1, 0.7, 0.7]);
    assert!(
        near.clone()
            .all(|(score, wanted)| (score.unwrap() - wanted).abs() < 1e-9),
        "{:?}",
        graded.grades
    );
    assert_eq!(graded.usage.model_calls, 2);
    let sure = cascade.relevance("q", &passages[..1], &emend_testkit::scope()).await;
    assert!(second.asked().is_empty() && sure.usage.model_calls == 1);
}

#[tokio::test]
async fn what_the_second_cannot_grade_keeps_the_first_grade() {
    let mut grades = vec![Grade::Graded(0.4), Grade::Ungraded(Ungraded::OutOfTime)];
    let reason = || Grade::Ungraded(Ungraded::Failed("down".to_owned()));
    replace(&mut grades, vec![0, 1], vec![reason(), reason()]);
    assert_eq!(grades, [Grade::Graded(0.4), reason()]);
    // One that the first has no grade for goes to the second too.
    let (_, second, cascade) = cascade();
    let graded = cascade
        .relevance("q", &passages(&["? neither"]), &emend_testkit::scope())
        .await;
    assert_eq!(scores(&graded.grades), [None]);
    assert_eq!(second.asked(), ["? neither"]);
}

#[tokio::test]
async fn doubt_of_other_grades_is_graded_again_too() {
    let (_, second, cascade) = cascade();
    let sentences = ["0.9 full", "0.5 partial", "0.1 none"];
    let graded = cascade
        .groundedness("q", &sentences, &[], &emend_testkit::scope())
        .await;
    assert_eq!(second.asked(), ["0.5 partial"]);
    assert_eq!(graded.grades[1].graded().unwrap().level, Support::Full);
    for (text, asked) in [("0.1 poor", 0), ("0.5 fair", 1), ("0.9 good", 0), ("? none", 1)] {
        cascade.usefulness("q", text, &[], &emend_testkit::scope()).await;
        assert_eq!(second.asked().len(), asked, "{text}");
        cascade.retrieval("q", text, &[], &emend_testkit::scope()).await;
        assert_eq!(second.asked().len(), asked, "{text}");
    }
}

#[tokio::test]
async fn doubtful_strips_go_with_their_passage() {
    let (_, second, cascade) = cascade();
    let strips = |texts: &[&'static str]| Strips {
        title: "t",
        texts: texts.to_vec(),
    };
    let all = [
        strips(&["0.9 a", "0.4 b"]),
        strips(&["0.1 c"]),
        strips(&["0.6 d", "0.1 e", "0.5 f"]),
    ];
    let graded = cascade.strips("q", &all, &emend_testkit::scope()).await;
    assert_eq!(second.asked(), ["0.4 b", "0.6 d", "0.5 f"]);
    let wanted = [0.9, 0.8, 0.1, 1.0, 0.1, 0.9];
    let near = scores(&graded.grades).into_iter().zip(wanted);
    assert!(
        near.clone()
            .all(|(score, wanted)| (score.unwrap() - wanted).abs() < 1e-9),
        "{:?}",
        graded.grades
    );
}

#[test]
fn thresholds_of_one_scale_fall_on_those_of_the_other() {
    let of = |lower, relevance, upper| Thresholds {
        relevance,
        upper,
        lower,
        strip: lower,
    };
    let (from, to) = (of(0.3, 0.5, 0.7), of(0.1, 0.4, 0.9));
    for (score, wanted) in [(0.0, 0.0), (0.3, 0.1), (0.5, 0.4), (0.6, 0.65), (0.7, 0.9), (1.0, 1.0)] {
        assert!((rescaled(score, from, to) - wanted).abs() < 1e-9, "{score}");
    }
    // Where thresholds are equal nothing lies between them.
    assert!((rescaled(0.5, of(0.5, 0.5, 0.5), to) - 0.9).abs() < 1e-9);
    assert!(rescaled(0.49, of(0.5, 0.5, 0.5), to) < 0.1);
}
