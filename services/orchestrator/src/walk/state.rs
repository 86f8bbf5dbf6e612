//! The state of a walk.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use emend_proto::v1::{GradedPassage, Passage, PassageContent, Relevance, Sentence, Support, Usage};

use super::{beam::Hypothesis, outage::Outages, question::Question, steps::Steps};
use crate::graph::{EvidenceCounts, MAX_PASSAGES, Purpose};

/// An answer that is not useful enough with a probability below this is not shown.
const MIN_USEFULNESS: f64 = 0.2;

/// Everything the actions read and change.
#[derive(Debug)]
pub(crate) struct State {
    question: Question,
    /// The query of retrieval: the question, until it is rewritten.
    pub(super) query: String,
    /// The query of web search, which leaves the deployment: the question, or what it was last rewritten to for the web. No
    /// document has a part in it.
    pub(super) web_query: String,
    /// Queries searched so far, with their purpose. A rewrite treats them as failed.
    searched: Vec<(Purpose, String)>,
    /// What the last retrieval found, best first, before grading.
    pub(super) retrieved: Vec<Passage>,
    /// The evidence: passages held, in the order in which they were found (R9).
    pub(super) held: Vec<Held>,
    /// Grades of passages by id. The question never changes, so a grade holds for the whole walk.
    pub(super) grades: HashMap<String, (Relevance, Option<f64>)>,
    /// Passages held that the last search graded.
    pub(super) newly_graded: usize,
    /// Answers, oldest first.
    pub(super) attempts: Vec<Attempt>,
    /// Answers that are written segment by segment, the best first.
    pub(super) beam: Vec<Hypothesis>,
    /// The number of the attempt that shows the best hypothesis of the beam.
    pub(super) beam_attempt: Option<u32>,
    /// Times the generator was asked.
    pub(super) generations: u32,
    /// The words of the generator when it last abstained; `None` once it answers again.
    pub(super) abstained: Option<String>,
    /// Hashes of the passages that the generator abstained from.
    abstained_from: HashSet<u64>,
    /// Sentences that were found unsupported so far.
    pub(super) unsupported: Vec<String>,
    pub(super) usage: Usage,
    /// What replies cost that the step under way could not use.
    pub(super) wasted: Usage,
    pub(super) steps: Steps,
    /// Whether the retriever or a web search answered, even without results.
    pub(super) searched_evidence: bool,
    pub(super) outages: Outages,
    /// Why the walk took its last edge, on one line. Edges of `finalize_response` are left out.
    pub(super) last_edge_reason: String,
}

/// A passage among the evidence.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) passage: Passage,
    pub(super) relevance: Relevance,
    pub(super) score: Option<f64>,
    /// Whether it has been refined.
    pub(super) refined: bool,
}

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Which generation it is, from 1.
    pub(super) number: u32,
    pub(super) answer: String,
    pub(super) sentences: Vec<Sentence>,
    /// What it was written from; empty when it was written from the model alone.
    pub(super) evidence: Arc<[GradedPassage]>,
    pub(super) verdict: Verdict,
    /// Whether it is supported well enough; unset when ungraded.
    pub(super) supported: Option<bool>,
    pub(super) groundedness: Option<f64>,
    pub(super) usefulness: Option<f64>,
    /// Indexes of the sentences that events have retracted.
    pub(super) retracted: HashSet<usize>,
}

impl Attempt {
    /// The probability that it is both supported and useful, as far as it was graded.
    fn quality(&self) -> f64 {
        self.groundedness.unwrap_or(0.0) * self.usefulness.unwrap_or(1.0)
    }

    /// Its sentences, each with the passages that it cites, in no order; the answer as a whole where it was not cut into any.
    fn said(&self) -> BTreeSet<(&str, BTreeSet<&str>)> {
        if self.sentences.is_empty() {
            return BTreeSet::from([(self.answer.as_str(), BTreeSet::new())]);
        }
        let sentences = self.sentences.iter();
        sentences
            .map(|sentence| (sentence.text.as_str(), cited(sentence)))
            .collect()
    }

    /// What is said of it where it stands although the last generation abstained.
    pub(super) fn doubt(&self) -> String {
        format!("generation {} is in doubt, and there is no other answer", self.number)
    }

    /// Whether it is supported, and useful with a probability that does not pass and is not negligible.
    fn is_doubtful(&self) -> bool {
        self.verdict == Verdict::NotUseful && self.usefulness.is_some_and(|useful| useful >= MIN_USEFULNESS)
    }
}

/// What grading said about an answer, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    NotSupported,
    NotUseful,
    /// Not graded, or not fully.
    Ungraded,
    Passed,
}

impl State {
    pub(crate) fn new(question: Question) -> State {
        State {
            query: question.text().to_owned(),
            web_query: question.text().to_owned(),
            question,
            searched: Vec::new(),
            retrieved: Vec::new(),
            held: Vec::new(),
            grades: HashMap::new(),
            newly_graded: 0,
            attempts: Vec::new(),
            beam: Vec::new(),
            beam_attempt: None,
            generations: 0,
            abstained: None,
            abstained_from: HashSet::new(),
            unsupported: Vec::new(),
            usage: Usage::default(),
            wasted: Usage::default(),
            steps: Steps::default(),
            searched_evidence: false,
            outages: Outages::default(),
            last_edge_reason: String::new(),
        }
    }

    /// What the user asked; there is no way to change it (R2).
    pub(super) fn question(&self) -> &Question {
        &self.question
    }

    /// Replaces a follow-up by its standalone question. Only allowed before the first step.
    pub(super) fn stand_alone(&mut self, text: String) {
        debug_assert!(self.steps.is_empty(), "the walk has begun");
        self.query.clone_from(&text);
        self.web_query.clone_from(&text);
        self.question = self.question.clone().standing_alone(text);
    }

    /// What the cost of the next step depends on.
    pub(super) fn evidence_counts(&self) -> EvidenceCounts {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let held = |wanted: fn(&Held) -> bool| count(self.held.iter().filter(|held| wanted(held)).count());
        EvidenceCounts {
            held: count(self.held.len()),
            ungraded: held(|held| held.relevance == Relevance::Unspecified),
            unrefined: held(|held| !held.refined),
            hypotheses: count(self.beam.iter().filter(|hypothesis| !hypothesis.complete).count()),
        }
    }

    /// The walk's query for that purpose.
    pub(super) fn query(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Retrieval => &self.query,
            Purpose::WebSearch => &self.web_query,
        }
    }

    /// Replaces the walk's query. What was made for the documents, and may hold words of theirs, is never sent to the web.
    pub(super) fn rewritten(&mut self, purpose: Purpose, query: &str) {
        query.clone_into(&mut self.query);
        if purpose == Purpose::WebSearch {
            query.clone_into(&mut self.web_query);
        }
    }

    /// Remembers that the walk's query for that purpose is being searched.
    pub(super) fn searching(&mut self, purpose: Purpose) {
        let query = self.query(purpose);
        if !self.has_searched(purpose, query) {
            self.searched.push((purpose, query.to_owned()));
        }
    }

    /// Whether a query was searched before, ignoring white space and case.
    pub(super) fn has_searched(&self, purpose: Purpose, query: &str) -> bool {
        let query = normalised(query);
        self.failed_queries(purpose)
            .any(|searched| normalised(searched) == query)
    }

    /// The queries that were searched for that purpose, oldest first.
    pub(super) fn failed_queries(&self, purpose: Purpose) -> impl DoubleEndedIterator<Item = &str> {
        self.searched
            .iter()
            .filter(move |(searched, _)| *searched == purpose)
            .map(|(_, query)| query.as_str())
    }

    /// Replaces the passages held by retrieved ones. Grades from earlier in the walk still apply.
    pub(super) fn hold_retrieved(&mut self, passages: Vec<Passage>) {
        self.retrieved.clone_from(&passages);
        self.held.clear();
        self.hold(passages);
    }

    /// Adds passages to those held, up to [`MAX_PASSAGES`], and returns how many are new.
    pub(super) fn hold(&mut self, passages: Vec<Passage>) -> usize {
        let before = self.held.len();
        for passage in passages {
            let known = self.held.iter().any(|held| held.passage.id == passage.id);
            if known || self.held.len() >= MAX_PASSAGES as usize {
                continue;
            }
            let (relevance, score) = self
                .grades
                .get(&passage.id)
                .copied()
                .unwrap_or((Relevance::Unspecified, None));
            self.held.push(Held {
                passage,
                relevance,
                score,
                refined: false,
            });
        }
        self.held.len() - before
    }

    /// The evidence as a result shows it.
    pub(super) fn documents(&self) -> Vec<GradedPassage> {
        self.held.iter().map(|held| held.graded(true)).collect()
    }

    /// The best answer so far: by verdict, then by groundedness and usefulness, then the latest. The beam has one
    /// attempt, its best hypothesis.
    pub(super) fn best(&self) -> Option<&Attempt> {
        self.attempts
            .iter()
            .max_by(|a, b| a.verdict.cmp(&b.verdict).then(a.quality().total_cmp(&b.quality())))
    }

    /// The answer that stands although the last generation abstained. That withdraws earlier answers, which had less evidence
    /// (R8), but for one that is in doubt alone: the generator was asked for another one and knows none.
    pub(super) fn in_doubt(&self) -> Option<&Attempt> {
        self.abstained.as_ref()?;
        self.best().filter(|best| best.is_doubtful())
    }

    /// Whether this answer was written from these passages before (R3).
    pub(super) fn is_stalled(&self, evidence: &[GradedPassage], answer: &str) -> bool {
        let answer = normalised(answer);
        self.attempts
            .iter()
            .any(|attempt| same_passages(&attempt.evidence, evidence) && normalised(&attempt.answer) == answer)
    }

    /// Gives the latest answer the grades of an earlier one that says the same by the same passages, and was supported and not
    /// useful; returns the number of that one. Other passages beside those that it cites do not make it an answer to the
    /// question.
    pub(super) fn take_earlier_grades(&mut self) -> Option<u32> {
        let (latest, earlier) = self.attempts.split_last_mut()?;
        let said = latest.said();
        let earlier = earlier.iter().find(|earlier| {
            earlier.verdict == Verdict::NotUseful && earlier.supported == Some(true) && earlier.said() == said
        })?;
        latest.verdict = earlier.verdict;
        latest.supported = earlier.supported;
        latest.groundedness = earlier.groundedness;
        latest.usefulness = earlier.usefulness;
        for sentence in &mut latest.sentences {
            let graded = earlier.sentences.iter().find(|graded| graded.text == sentence.text);
            if let Some(graded) = graded {
                sentence.support = graded.support;
                sentence.support_score = graded.support_score;
            }
        }
        Some(earlier.number)
    }

    /// Remembers that the generator abstained from these passages.
    pub(super) fn abstain_from(&mut self, evidence: &[GradedPassage], words: String) {
        self.abstained = Some(words);
        self.abstained_from.insert(contents(evidence));
    }

    /// Whether the generator abstained from these passages before, in whatever order (R3).
    pub(super) fn has_abstained_from(&self, evidence: &[GradedPassage]) -> bool {
        self.abstained_from.contains(&contents(evidence))
    }

    /// Remembers sentences that were not supported, so that the next attempt does not say them again (R3).
    pub(super) fn remember_unsupported(&mut self, sentences: &[Sentence]) {
        for sentence in sentences {
            if sentence.support() == Support::NotSupported && !self.unsupported.contains(&sentence.text) {
                self.unsupported.push(sentence.text.clone());
            }
        }
    }
}

impl Held {
    pub(super) fn graded(&self, kept: bool) -> GradedPassage {
        GradedPassage {
            passage: Some(self.passage.clone()),
            relevance: self.relevance.into(),
            score: self.score,
            kept,
            content: PassageContent::Whole.into(),
        }
    }
}

/// The passages that a sentence cites.
fn cited(sentence: &Sentence) -> BTreeSet<&str> {
    let citations = sentence.citations.iter();
    citations.map(|citation| citation.passage_id.as_str()).collect()
}

/// Whether two lists are the same passages in the same order.
pub(super) fn same_passages(a: &[GradedPassage], b: &[GradedPassage]) -> bool {
    let ids = |passages: &[GradedPassage]| -> Vec<String> {
        passages
            .iter()
            .filter_map(|graded| Some(graded.passage.as_ref()?.id.clone()))
            .collect()
    };
    ids(a) == ids(b)
}

/// A hash of the ids and texts of passages that does not depend on their order.
fn contents(passages: &[GradedPassage]) -> u64 {
    let mut contents: Vec<(&str, &str)> = passages
        .iter()
        .filter_map(|graded| graded.passage.as_ref())
        .map(|passage| (passage.id.as_str(), passage.text.as_str()))
        .collect();
    contents.sort_unstable();
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    hasher.finish()
}

/// The text in lower case and with single spaces.
fn normalised(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Adds what a call cost.
pub(super) fn add_usage(sum: &mut Usage, usage: Option<Usage>) {
    let usage = usage.unwrap_or_default();
    sum.model_calls = sum.model_calls.saturating_add(usage.model_calls);
    sum.input_tokens = sum.input_tokens.saturating_add(usage.input_tokens);
    sum.output_tokens = sum.output_tokens.saturating_add(usage.output_tokens);
}
