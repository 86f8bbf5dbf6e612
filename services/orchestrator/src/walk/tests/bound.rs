//! No walk costs more than the worst case says, and some walk costs as much.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use emend_proto::v1::{Relevance, RetrieveResponse, RewriteResponse, SearchResponse, Support, WalkStatus};
use proptest::prelude::*;

use super::{
    super::{
        scripted::{Call, Scripted, abstained, answer, calls, documents_graded, down, passage, supported, useful},
        services::Dependency,
    },
    ask_with, walk_request,
};

/// Numbers that a script's length fixes: services draw what they do from them, over and over.
#[derive(Clone)]
struct Dice {
    rolls: Arc<[u8]>,
    next: Arc<AtomicU64>,
}

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        let turn = self.turn();
        let roll = self.rolls[turn as usize % self.rolls.len()];
        (u64::from(roll) + turn / self.rolls.len() as u64) % sides
    }

    /// A number that never comes again.
    fn turn(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// Services that do anything at all, but answer with new passages, queries and texts mostly, so that nothing is saved.
pub(super) fn capricious(rolls: &[u8]) -> Scripted {
    let dice = Dice {
        rolls: rolls.into(),
        next: Arc::default(),
    };
    let d = || dice.clone();
    let (retrieve, grade, grounded, use_, write, rewrite, search) = (d(), d(), d(), d(), d(), d(), d());
    Scripted::default()
        .retrieve(move |request| match retrieve.roll(8) {
            0 => down(Dependency::Retriever),
            1 => Ok(RetrieveResponse::default()),
            _ => Ok(RetrieveResponse {
                passages: (0..request.top_k.unwrap())
                    .map(|_| passage(&retrieve.turn().to_string()))
                    .collect(),
            }),
        })
        .grade_documents(move |request| match grade.roll(8) {
            0 => down(Dependency::Grader),
            1..4 => Ok(documents_graded(request, |_| Relevance::Irrelevant)),
            _ => Ok(documents_graded(request, |_| match grade.roll(4) {
                0 => Relevance::Ungraded,
                1 => Relevance::Irrelevant,
                _ => Relevance::Relevant,
            })),
        })
        .grade_groundedness(move |request| match grounded.roll(8) {
            0 => down(Dependency::Grader),
            1..4 => Ok(supported(request, Support::NotSupported)),
            4 => Ok(supported(request, Support::Ungraded)),
            _ => Ok(supported(request, Support::PartiallySupported)),
        })
        .grade_usefulness(move |_| match use_.roll(8) {
            0 => down(Dependency::Grader),
            1..6 => Ok(useful(false)),
            _ => Ok(useful(true)),
        })
        .generate(move |_| match write.roll(12) {
            0 => down(Dependency::Generator),
            1 => Ok(abstained()),
            2 => Ok(answer("The same.")),
            3 => Ok(answer(" ")),
            _ => Ok(answer(&format!("Answer {}.", write.turn()))),
        })
        .rewrite(move |_| match rewrite.roll(12) {
            0 => down(Dependency::Rewriter),
            1 => Ok(RewriteResponse::default()),
            _ => Ok(RewriteResponse {
                query: format!("query {}", rewrite.turn()),
                usage: calls(1),
            }),
        })
        .search(move |request| match search.roll(6) {
            0 => down(Dependency::WebSearch),
            1 => Ok(SearchResponse::default()),
            _ => Ok(SearchResponse {
                passages: (0..request.max_results.unwrap() + 3)
                    .map(|_| passage(&search.turn().to_string()))
                    .collect(),
                ..SearchResponse::default()
            }),
        })
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn r1_no_walk_costs_more_than_the_worst_case(
        graph in prop::sample::select(&["plain-rag", "self-rag", "self-corrective-rag", "corrective-rag-binary"][..]),
        rolls in prop::collection::vec(any::<u8>(), 1..40),
        top_k in 1u32..7,
        retries in 0u32..5,
        count in 0u32..5,
        limit in 1u32..60,
    ) {
        let all = [
            ("top_k", top_k),
            ("max_retries", retries),
            ("max_count", count),
            ("max_rewrites", count),
            ("wide_top_k", top_k + 3),
            ("recursion_limit", limit),
        ];
        let known: Vec<String> = walk_request(graph, &[]).graph.options().iter().map(|option| option.name.clone()).collect();
        let options: Vec<(&str, f64)> = all
            .into_iter()
            .filter(|(name, _)| known.iter().any(|known| known == name))
            .map(|(name, value)| (name, f64::from(value)))
            .collect();
        let services = capricious(&rolls);
        let ended = block_on(ask_with(graph, &options, &services, Duration::from_secs(60)));
        let asked = walk_request(graph, &options);
        let worst = asked.graph.worst_case(&asked.options).unwrap();

        let searches = services.calls().iter().filter(|call| matches!(call, Call::Search(_))).count() as u64;
        prop_assert!(services.model_calls() <= worst.model_calls, "{} > {worst:?}", services.model_calls());
        prop_assert!(searches <= worst.web_searches);
        let result = ended.unwrap();
        prop_assert!(result.steps.len() as u64 <= worst.steps);
        let failed = result.status() == WalkStatus::Failed;
        prop_assert_eq!(failed, result.failure.is_some());
        prop_assert_eq!(failed, result.answer.trim().is_empty());
        let answered = result.status() == WalkStatus::Answered;
        prop_assert_eq!(answered, result.reason.is_empty());
    }
}

#[test]
fn r1_the_worst_case_of_self_rag_is_reached() {
    for (c, r) in [(0, 0), (3, 3), (2, 5), (5, 1)] {
        let graded = AtomicU64::new(0);
        let retrieved = AtomicU64::new(0);
        let services = Scripted::default()
            .retrieve(move |request| {
                let passages = (0..request.top_k.unwrap())
                    .map(|_| passage(&retrieved.fetch_add(1, Ordering::Relaxed).to_string()));
                Ok(RetrieveResponse {
                    passages: passages.collect(),
                })
            })
            .grade_documents(move |request| {
                let helps = graded.fetch_add(1, Ordering::Relaxed) >= c;
                Ok(documents_graded(request, |_| {
                    if helps {
                        Relevance::Relevant
                    } else {
                        Relevance::Irrelevant
                    }
                }))
            })
            .grade_usefulness(|_| Ok(useful(false)));
        let options = [("max_count", c as f64), ("max_retries", r as f64), ("top_k", 4.0)];
        let result = block_on(ask_with("self-rag", &options, &services, Duration::from_secs(60))).unwrap();
        let asked = walk_request("self-rag", &options);
        let worst = asked.graph.worst_case(&asked.options).unwrap();
        assert_eq!(result.steps.len() as u64, worst.steps, "C={c} R={r}");
        assert_eq!(services.model_calls(), worst.model_calls, "C={c} R={r}");
        assert_eq!(u64::from(result.usage.unwrap().model_calls), worst.model_calls);
    }
}
