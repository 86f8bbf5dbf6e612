//! What a service refuses, what it could not do, and what it cost all the same.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use emend_core::{Code, FieldViolation, ServiceError as _, limits::MAX_QUESTION_BYTES};
use emend_proto::v1::{GenerateFinished, Relevance, RewriteResponse, Usage, WalkResult, WalkStatus};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    instrument::WithSubscriber as _,
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt as _};

use super::{
    super::{
        scripted::{Call, Scripted, answer, documents_graded, down},
        services::{Dependency, Failure},
    },
    QUESTION, WalkError, ask, ask_with, path, status,
};

const LONG: Duration = Duration::from_secs(60);

fn rejected<T>(dependency: Dependency, field: &str) -> Result<T, Failure> {
    Err(Failure {
        violations: vec![FieldViolation {
            field: field.to_owned(),
            description: "is wrong".to_owned(),
        }],
        ..Failure::new(dependency, Code::InvalidArgument, "invalid request")
    })
}

/// Services of which each rejects what the options say, one of them at a time.
fn rejecting() -> [(&'static str, &'static str, Scripted); 6] {
    let irrelevant =
        || Scripted::default().grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)));
    [
        (
            "corrective-rag",
            "grader",
            Scripted::default().grade_documents(|_| rejected(Dependency::Grader, "lower_threshold")),
        ),
        (
            "corrective-rag",
            "grader",
            Scripted::default().refine_knowledge(|_| rejected(Dependency::Grader, "max_strips")),
        ),
        (
            "self-reflective-rag",
            "grader",
            Scripted::default().decide_retrieval(|_| rejected(Dependency::Grader, "threshold")),
        ),
        (
            "self-reflective-rag",
            "generator",
            Scripted::default().generate(|_| rejected(Dependency::Generator, "max_tokens")),
        ),
        (
            "self-rag",
            "rewriter",
            irrelevant().rewrite(|_| rejected(Dependency::Rewriter, "question")),
        ),
        (
            "corrective-rag-binary",
            "web search",
            irrelevant().search(|_| rejected(Dependency::WebSearch, "max_results")),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_the_question_or_its_options_say_is_refused_by_whichever_service() {
    for (graph, service, services) in rejecting() {
        let error = ask_with(graph, &[], &services, LONG).await.unwrap_err();
        let WalkError::Refused(failure) = &error else {
            panic!("{graph}: {error:?}");
        };
        assert_eq!(failure.dependency.to_string(), service, "{graph}");
        assert_eq!(error.code(), Code::InvalidArgument);
        let field = &error.violations()[0].field;
        assert!(
            ["question.options", "question.question"].contains(&field.as_str()),
            "{field}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_passage_that_a_service_rejects_degrades_the_walk() {
    let services = Scripted::default().grade_documents(|_| rejected(Dependency::Grader, "passages[0].text"));
    let result = ask("self-rag", &services).await;
    assert_eq!(result.steps[1].outcome, "unavailable");
    assert_eq!(status(&result), WalkStatus::Answered);
    assert_eq!(failed(&result), ["grader INVALID_ARGUMENT"]);
}

fn failed(result: &WalkResult) -> Vec<String> {
    let failures = result.degraded_by.iter();
    failures
        .map(|failure| format!("{} {}", failure.service, failure.code))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_search_of_the_documents_is_unverified_whatever_the_failure() {
    let codes = [
        Code::Unavailable,
        Code::Internal,
        Code::DeadlineExceeded,
        Code::ResourceExhausted,
        Code::Unimplemented,
        Code::Cancelled,
    ];
    for code in codes {
        let services = Scripted::default().retrieve(move |_| {
            Err(Failure::new(
                Dependency::Retriever,
                code,
                "the connection failed: http2 error",
            ))
        });
        let result = ask("self-corrective-rag", &services).await;
        assert_eq!(status(&result), WalkStatus::Unverified, "{code:?}");
        assert_eq!(
            result.reason,
            "the documents could not be searched, so the answer is not from them; retriever: the connection failed: \
             http2 error"
        );
        assert_eq!(failed(&result), [format!("retriever {}", code.name())]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_names_every_service_that_failed_once() {
    let services = Scripted::default()
        .grade_documents(|_| down(Dependency::Grader))
        .grade_groundedness(|_| down(Dependency::Grader))
        .grade_usefulness(|_| down(Dependency::Grader));
    assert_eq!(failed(&ask("self-rag", &services).await), ["grader UNAVAILABLE"]);
    assert!(ask("self-rag", &Scripted::default()).await.degraded_by.is_empty());
}

/// A failure of a model after that many calls.
fn tried<T>(dependency: Dependency, model_calls: u32) -> Result<T, Failure> {
    Err(Failure {
        usage: Usage {
            model_calls,
            ..Usage::default()
        },
        ..Failure::new(dependency, Code::Unavailable, "the model gave no answer")
    })
}

#[tokio::test(start_paused = true)]
async fn model_calls_that_failed_are_counted() {
    let services = Scripted::default()
        .grade_documents(|_| tried(Dependency::Grader, 2))
        .generate(|_| tried(Dependency::Generator, 3));
    let result = ask("self-rag", &services).await;
    assert_eq!(path(&result), ["retrieve", "grade_documents", "generate"]);
    let calls: Vec<u32> = result
        .steps
        .iter()
        .map(|step| step.usage.unwrap().model_calls)
        .collect();
    assert_eq!(calls, [0, 2, 3]);
    assert_eq!(result.usage.unwrap().model_calls, 5);

    // Of a beam, each of the four candidates.
    let services = Scripted::default().generate(|_| tried(Dependency::Generator, 3));
    let result = ask_with("self-reflective-rag", &[("top_k", 4.0)], &services, LONG)
        .await
        .unwrap();
    let step = result
        .steps
        .iter()
        .find(|step| step.action == "generate_segment")
        .unwrap();
    assert_eq!(step.usage.unwrap().model_calls, 4 * 3 + 4);
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_costs_what_it_cost() {
    for graph in ["plain-rag", "self-reflective-rag"] {
        let services = Scripted::default().generate(|_| {
            Ok(GenerateFinished {
                usage: Some(Usage {
                    model_calls: 1,
                    input_tokens: 900,
                    output_tokens: 7,
                }),
                ..answer(" ")
            })
        });
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), WalkStatus::Failed, "{graph}");
        assert!(result.usage.unwrap().input_tokens >= 900, "{graph}: {:?}", result.usage);
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_of_the_rewriters_is_as_long_as_one_may_be() {
    for graph in ["self-rag", "corrective-rag"] {
        let services = Scripted::default()
            .grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)))
            .rewrite(|_| {
                Ok(RewriteResponse {
                    query: "é".repeat(MAX_QUESTION_BYTES),
                    ..RewriteResponse::default()
                })
            });
        ask(graph, &services).await;
        let searched: Vec<usize> = services
            .calls()
            .iter()
            .filter_map(|call| match call {
                Call::Retrieve(request) => Some(request.query.len()),
                Call::Search(request) => Some(request.query.len()),
                _ => None,
            })
            .collect();
        assert_eq!(
            searched.iter().max(),
            Some(&MAX_QUESTION_BYTES),
            "{graph}: {searched:?}"
        );
    }
}

/// The warnings, with their fields, one line each.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            let mut fields = Fields(String::new());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
    }
}

async fn warnings(services: Scripted) -> Vec<String> {
    let warnings = Warnings::default();
    let subscriber = tracing_subscriber::registry().with(warnings.clone());
    // Whether it has a result is up to the services.
    drop(
        ask_with("self-corrective-rag", &[], &services, LONG)
            .with_subscriber(subscriber)
            .await,
    );
    let warnings = warnings.0.lock().unwrap().clone();
    assert!(
        warnings.iter().all(|warning| !warning.contains(QUESTION)),
        "{warnings:?}"
    );
    warnings
}

#[tokio::test(start_paused = true)]
async fn a_walk_that_does_not_go_as_it_should_is_one_line_of_the_log() {
    let cases = [
        (
            Scripted::default().generate(|_| down(Dependency::Generator)),
            [
                "no answer",
                "service=\"generator\"",
                "code=\"UNAVAILABLE\"",
                "connection refused",
            ],
        ),
        (
            Scripted::default().retrieve(|_| {
                Err(Failure::new(
                    Dependency::Retriever,
                    Code::NotFound,
                    "unknown collection\n`isles`",
                ))
            }),
            [
                "ended in an error",
                "service=\"retriever\"",
                "code=\"NOT_FOUND\"",
                "unknown collection `isles`",
            ],
        ),
        (
            Scripted::default().grade_documents(|_| down(Dependency::Grader)),
            [
                "went on without",
                "service=\"grader\"",
                "code=\"UNAVAILABLE\"",
                "connection refused",
            ],
        ),
    ];
    for (services, words) in cases {
        let warnings = warnings(services).await;
        let [warning] = warnings.as_slice() else {
            panic!("{warnings:?}");
        };
        for word in words.iter().chain(&["walk=\""]) {
            assert!(warning.contains(word), "{word}: {warning}");
        }
    }
    assert!(warnings(Scripted::default()).await.is_empty());
}
