//! What the five services do, written down as numbers: each call of a service takes the next of its numbers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use emend_core::Code;
use emend_proto::v1::{
    Evaluation, GenerateFinished, Relevance, RetrievalDecision, RetrieveResponse, RewritePurpose, RewriteResponse,
    SearchResponse, Support,
};
use proptest::prelude::*;

use crate::walk::{
    Dependency, Failure,
    scripted::{Scripted, abstained, answer, decided, documents_graded, passage, refined, supported, useful},
};

/// The numbers of each service; they begin again when they are used up.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(super) retrieve: Vec<u8>,
    pub(super) documents: Vec<u8>,
    pub(super) rewrite: Vec<u8>,
    pub(super) search: Vec<u8>,
    pub(super) generate: Vec<u8>,
    pub(super) groundedness: Vec<u8>,
    pub(super) usefulness: Vec<u8>,
    pub(super) decide: Vec<u8>,
    pub(super) refine: Vec<u8>,
}

/// Any script.
pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    let numbers = || proptest::collection::vec(any::<u8>(), 1..12);
    (
        (numbers(), numbers(), numbers(), numbers(), numbers()),
        (numbers(), numbers(), numbers(), numbers()),
    )
        .prop_map(
            |((retrieve, documents, rewrite, search, generate), (groundedness, usefulness, decide, refine))| Script {
                retrieve,
                documents,
                rewrite,
                search,
                generate,
                groundedness,
                usefulness,
                decide,
                refine,
            },
        )
}

/// The numbers of one service, taken one after the other.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    numbers: Arc<[u8]>,
    taken: Arc<AtomicUsize>,
}

impl Numbers {
    pub(super) fn new(numbers: &[u8]) -> Numbers {
        Numbers {
            numbers: numbers.into(),
            taken: Arc::default(),
        }
    }

    /// The next number, below `ways`, and how many were taken before.
    pub(super) fn next(&self, ways: u8) -> (u8, usize) {
        let turn = self.taken.fetch_add(1, Ordering::Relaxed);
        (self.at(turn, ways), turn)
    }

    /// The number of that turn, below `ways`.
    pub(super) fn at(&self, turn: usize, ways: u8) -> u8 {
        self.numbers[turn % self.numbers.len()] % ways
    }
}

fn fails<T>(dependency: Dependency) -> Result<T, Failure> {
    // No failure that a client tries again: a script says what each call does.
    Err(Failure::new(dependency, Code::Internal, "as the script says"))
}

/// Services that do what the script says. Segments are told apart by what was written before them, so that the order in
/// which candidates are asked for does not matter.
pub(crate) fn services(script: &Script) -> Scripted {
    let [retrieve, documents, rewrite, search, generate] = [
        &script.retrieve,
        &script.documents,
        &script.rewrite,
        &script.search,
        &script.generate,
    ]
    .map(|numbers| Numbers::new(numbers));
    let [groundedness, usefulness, decide, refine] =
        [&script.groundedness, &script.usefulness, &script.decide, &script.refine].map(|numbers| Numbers::new(numbers));
    Scripted::default()
        .retrieve(move |request| match retrieve.next(6) {
            (0, _) => fails(Dependency::Retriever),
            (1, _) => Ok(RetrieveResponse::default()),
            (2 | 3, _) => Ok(RetrieveResponse {
                passages: (0..request.top_k.unwrap())
                    .map(|place| passage(&format!("local as ever {place}")))
                    .collect(),
            }),
            (_, turn) => Ok(RetrieveResponse {
                passages: (0..request.top_k.unwrap())
                    .map(|place| passage(&format!("local {turn} {place}")))
                    .collect(),
            }),
        })
        .grade_documents(move |request| {
            let first = request.passages[0].id.clone();
            let (number, _) = documents.next(5);
            let (evaluation, of_others) = match number {
                0 => return fails(Dependency::Grader),
                1 => (Evaluation::Incorrect, Relevance::Irrelevant),
                2 => (Evaluation::Ambiguous, Relevance::Irrelevant),
                3 => (Evaluation::Ambiguous, Relevance::Ungraded),
                _ => (Evaluation::Correct, Relevance::Relevant),
            };
            let mut graded = documents_graded(request, |id| match id == first && number != 1 {
                true => Relevance::Relevant,
                false => of_others,
            });
            graded.set_evaluation(evaluation);
            Ok(graded)
        })
        .rewrite(move |request| {
            if request.purpose() == RewritePurpose::Condense {
                return Ok(RewriteResponse::default());
            }
            match rewrite.next(3) {
                (0, _) => fails(Dependency::Rewriter),
                (1, _) => Ok(RewriteResponse::default()),
                (_, turn) => Ok(RewriteResponse {
                    query: format!("query {turn}"),
                    usage: None,
                }),
            }
        })
        .search(move |request| match search.next(3) {
            (0, _) => fails(Dependency::WebSearch),
            (1, _) => Ok(SearchResponse::default()),
            (_, turn) => Ok(SearchResponse {
                passages: (0..request.max_results.unwrap())
                    .map(|place| passage(&format!("web {turn} {place}")))
                    .collect(),
                provider: "scripted".to_owned(),
            }),
        })
        .generate(move |request| {
            if request.max_sentences == Some(1) {
                let depth = request.answer_so_far.matches('.').count();
                let from = &request.passages[0].id;
                return match generate.at(depth, 5) {
                    0 => fails(Dependency::Generator),
                    1 => Ok(abstained()),
                    2 => Ok(GenerateFinished {
                        answer: String::new(),
                        sentences: Vec::new(),
                        ..answer("")
                    }),
                    _ => Ok(answer(&format!("Segment {depth} from {from}."))),
                };
            }
            match generate.next(5) {
                (0, _) => fails(Dependency::Generator),
                (1, _) => Ok(abstained()),
                (2, _) => Ok(answer("The same as ever.")),
                (_, turn) => Ok(answer(&format!("Answer {turn}."))),
            }
        })
        .grade_groundedness(move |request| {
            let number = match depth_of(&request.answer) {
                Some(depth) => groundedness.at(depth, 4),
                None => groundedness.next(4).0,
            };
            match number {
                0 => fails(Dependency::Grader),
                1 => Ok(supported(request, Support::NotSupported)),
                2 => Ok(supported(request, Support::PartiallySupported)),
                _ => Ok(supported(request, Support::FullySupported)),
            }
        })
        .grade_usefulness(move |request| {
            let number = match depth_of(&request.answer) {
                Some(_) => usefulness.at(request.answer.matches('.').count() - 1, 3),
                None => usefulness.next(3).0,
            };
            match number {
                0 => fails(Dependency::Grader),
                number => Ok(useful(number == 2)),
            }
        })
        .decide_retrieval(move |_| match decide.next(4).0 {
            0 => fails(Dependency::Grader),
            1 => Ok(decided(RetrievalDecision::No)),
            2 => Ok(decided(RetrievalDecision::Continue)),
            _ => Ok(decided(RetrievalDecision::Yes)),
        })
        .refine_knowledge(move |request| match refine.next(3).0 {
            0 => fails(Dependency::Grader),
            number => Ok(refined(request, |_| number == 2)),
        })
}

/// Which segment a text begins with, if it is one.
fn depth_of(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("Segment ")?;
    rest.split(' ').next()?.parse().ok()
}
