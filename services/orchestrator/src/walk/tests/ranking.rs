//! The beam of `self-reflective-rag` over random grades, against a ranking that is written out here by itself.

use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use emend_proto::v1::{
    DocumentGrade, GenerateFinished, GradeDocumentsResponse, GradeGroundednessResponse, GradeUsefulnessResponse,
    Relevance, RetrieveResponse, Support, WalkStatus, walk_event::Event,
};

use super::{
    super::scripted::{Scripted, answer, passage, supported, useful},
    ask,
    events::{events, result},
};

const SEEDS: u64 = 200;
const PASSAGES: [&str; 4] = ["a", "b", "c", "d"];
/// The graph's defaults.
const BEAM_WIDTH: usize = 2;
const MAX_DEPTH: usize = 7;

/// Everything the services say, a number in [0, 1) for each thing they are asked.
#[derive(Clone, Copy)]
struct Dice(u64);

impl Dice {
    fn roll(self, about: &str, text: &str, passage: &str) -> f64 {
        let mut hasher = DefaultHasher::new();
        (self.0, about, text, passage).hash(&mut hasher);
        (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn relevance(self, passage: &str) -> f64 {
        self.roll("relevance", "", passage)
    }

    /// The next segment of an answer; empty where there is nothing to add.
    fn segment(self, so_far: &str, passage: &str) -> String {
        let depth = so_far.matches('.').count();
        if depth > 0 && self.roll("end", so_far, "") < 0.1 {
            return String::new();
        }
        format!("Segment {depth} from {passage}.")
    }

    fn likelihood(self, so_far: &str, passage: &str) -> f64 {
        self.roll("likelihood", so_far, passage)
    }

    fn support(self, segment: &str, passage: &str) -> Support {
        match self.roll("support", segment, passage) {
            roll if roll < 0.1 => Support::NotSupported,
            roll if roll < 0.4 => Support::PartiallySupported,
            _ => Support::FullySupported,
        }
    }

    /// P(fully supported) and P(partially supported).
    fn reflection(self, segment: &str, passage: &str) -> (f64, f64) {
        let fully = self.roll("fully", segment, passage);
        (fully, (1.0 - fully) * self.roll("partially", segment, passage))
    }

    fn utility(self, answer: &str) -> f64 {
        1.0 + 4.0 * self.roll("utility", answer, "")
    }

    fn useful(self, answer: &str) -> bool {
        self.roll("useful", answer, "") > 0.1
    }

    fn services(self) -> Scripted {
        Scripted::default()
            .retrieve(|_| {
                Ok(RetrieveResponse {
                    passages: PASSAGES.map(passage).into(),
                })
            })
            .grade_documents(move |request| {
                let grades = request.passages.iter().map(|passage| DocumentGrade {
                    passage_id: passage.id.clone(),
                    relevance: Relevance::Relevant.into(),
                    score: Some(self.relevance(&passage.id)),
                    error: String::new(),
                });
                Ok(GradeDocumentsResponse {
                    grades: grades.collect(),
                    ..GradeDocumentsResponse::default()
                })
            })
            .generate(move |request| {
                let passage = &request.passages[0].id;
                let segment = self.segment(&request.answer_so_far, passage);
                let written = answer(&segment);
                Ok(GenerateFinished {
                    likelihood: Some(self.likelihood(&request.answer_so_far, passage)),
                    sentences: if segment.is_empty() {
                        Vec::new()
                    } else {
                        written.sentences.clone()
                    },
                    ..written
                })
            })
            .grade_groundedness(move |request| {
                let passage = &request.passages[0].id;
                let (fully, partially) = self.reflection(&request.answer, passage);
                Ok(GradeGroundednessResponse {
                    fully_supported: Some(fully),
                    partially_supported: Some(partially),
                    score: Some(fully + partially),
                    ..supported(request, self.support(&request.answer, passage))
                })
            })
            .grade_usefulness(move |request| {
                Ok(GradeUsefulnessResponse {
                    expected_utility: Some(self.utility(&request.answer)),
                    ..useful(self.useful(&request.answer))
                })
            })
    }
}

/// An answer in the making, as the design has it.
#[derive(Clone, Default)]
struct Line {
    segments: Vec<(String, Support)>,
    scores: Vec<f64>,
    ended: bool,
}

impl Line {
    fn answer(&self) -> String {
        let texts: Vec<&str> = self.segments.iter().map(|(text, _)| text.as_str()).collect();
        texts.join(" ")
    }

    fn mean(&self) -> f64 {
        self.scores.iter().sum::<f64>() / self.scores.len() as f64
    }

    /// One longer line for each passage, ranked by likelihood, relevance, support and half the usefulness.
    fn longer(&self, dice: Dice) -> Vec<Line> {
        let so_far = self.answer();
        let mut lines = Vec::new();
        for passage in PASSAGES {
            let segment = dice.segment(&so_far, passage);
            if segment.is_empty() {
                continue;
            }
            let (fully, partially) = dice.reflection(&segment, passage);
            let mut line = self.clone();
            line.segments.push((segment.clone(), dice.support(&segment, passage)));
            let usefulness = (dice.utility(&line.answer()) - 3.0) / 2.0;
            line.scores.push(
                dice.likelihood(&so_far, passage)
                    + dice.relevance(passage)
                    + (fully + 0.5 * partially)
                    + 0.5 * usefulness,
            );
            lines.push(line);
        }
        lines
    }
}

/// What is left at the top of the beam.
fn winner(dice: Dice) -> Line {
    let mut beam = vec![Line::default()];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for line in &beam {
            let longer = if line.ended { Vec::new() } else { line.longer(dice) };
            if longer.is_empty() {
                next.push(Line {
                    ended: true,
                    ..line.clone()
                });
            }
            next.extend(longer);
        }
        next.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        next.truncate(BEAM_WIDTH);
        beam = next;
    }
    beam.swap_remove(0)
}

#[tokio::test(start_paused = true)]
async fn the_winner_of_the_beam_is_the_answer() {
    let (mut ended_early, mut partial) = (0, 0);
    for seed in 0..SEEDS {
        let dice = Dice(seed);
        let winner = winner(dice);
        let result = ask("self-reflective-rag", &dice.services()).await;
        assert_eq!(result.answer, winner.answer(), "seed {seed}");
        let sentences: Vec<(String, Support)> = result
            .sentences
            .iter()
            .map(|sentence| (sentence.text.clone(), sentence.support()))
            .collect();
        assert_eq!(sentences, winner.segments, "seed {seed}");
        let all_supported = winner
            .segments
            .iter()
            .all(|(_, support)| *support != Support::NotSupported);
        let status = match all_supported && dice.useful(&winner.answer()) {
            true => WalkStatus::Answered,
            false => WalkStatus::Unverified,
        };
        assert_eq!(result.status(), status, "seed {seed}");
        ended_early += u32::from(winner.ended);
        partial += u32::from(!all_supported);
    }
    // The seeds tell the cases apart.
    assert!(ended_early > 10 && partial > 10, "{ended_early}, {partial}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_the_events_is_left_with_the_winner() {
    for seed in 0..SEEDS {
        let dice = Dice(seed);
        let told = events("self-reflective-rag", &dice.services()).await;
        let mut texts: BTreeMap<u32, String> = BTreeMap::new();
        let mut standing: HashSet<(u32, String)> = HashSet::new();
        for event in &told {
            match event {
                Event::TextDelta(delta) => texts.entry(delta.attempt).or_default().push_str(&delta.text),
                Event::SentenceCommitted(committed) => {
                    let text = committed.sentence.as_ref().unwrap().text.clone();
                    standing.insert((committed.attempt, text));
                }
                Event::SentenceRetracted(retracted) => {
                    let text = retracted.sentence.as_ref().unwrap().text.clone();
                    standing.remove(&(retracted.attempt, text));
                }
                _ => {}
            }
        }
        let result = result(&told);
        let (shown, text) = texts.last_key_value().unwrap();
        assert_eq!(*text, result.answer, "seed {seed}");
        let supported: HashSet<(u32, String)> = result
            .sentences
            .iter()
            .filter(|sentence| sentence.support() != Support::NotSupported)
            .map(|sentence| (*shown, sentence.text.clone()))
            .collect();
        assert_eq!(standing, supported, "seed {seed}");
    }
}
