//! Errors that fit where a client reads them, and calls that are made once.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use emend_core::limits::MAX_GRAPH_BYTES;
use emend_proto::v1::{Usage, WalkStatus, chat_message::Role};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{QUESTION, Running, question, v1};
use crate::{
    catalog::builtin,
    walk::{Dependency, Failure, scripted::Scripted},
};

/// Asserts that clients with the default limits of gRPC's C core, 8 KiB of headers, read this status.
fn assert_small(status: &Status) {
    assert!(
        status.details().len() <= 4096,
        "{} bytes of details",
        status.details().len()
    );
    assert!(
        status.message().len() <= 2048,
        "{} bytes: {}",
        status.message().len(),
        status.message()
    );
}

fn descriptions(status: &Status) -> Vec<(String, String)> {
    let details = status.get_details_bad_request().unwrap();
    let violations = details.field_violations.into_iter();
    violations
        .map(|violation| (violation.field, violation.description))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_about_much_is_short_and_says_how_much_more_there_is() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let blank = v1::ChatMessage {
        role: Role::User.into(),
        content: " ".to_owned(),
    };
    let many = v1::Question {
        history: vec![blank; 20],
        options: (0..40).map(|option| (format!("option_{option:02}"), 1.0)).collect(),
        ..question(QUESTION)
    };
    let status = running.ask(many).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_small(&status);
    let violations = descriptions(&status);
    assert_eq!(violations[0].0, "question.history[0].content");
    let (_, last) = violations.last().unwrap();
    let more = 60 - (violations.len() - 1);
    assert_eq!(*last, format!("{more} more fields are wrong, and left out here"));

    let wrong = builtin("self-corrective-rag").source().replace(": grade_", ": grad_");
    let mistaken = v1::Question {
        graph_yaml: wrong,
        ..question(QUESTION)
    };
    let status = running.ask(mistaken).await.unwrap_err();
    assert_eq!(descriptions(&status)[0].0, "question.graph_yaml");
    assert_small(&status);
    assert!(
        status.message().ends_with("more, which ValidateGraph lists"),
        "{}",
        status.message()
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_megabytes_is_cut_and_not_looked_up() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let long = "self-rag".repeat(480_000);
    let by_name = v1::Question {
        graph: long.clone(),
        ..question(QUESTION)
    };
    let by_option = v1::Question {
        options: [(long.clone(), 1.0)].into(),
        ..question(QUESTION)
    };
    let by_collection = v1::Question {
        collection: long.clone(),
        ..question(QUESTION)
    };
    let by_filter = v1::Question {
        filter: [(long.clone(), "en".to_owned())].into(),
        ..question(QUESTION)
    };
    for asked in [by_name, by_option, by_collection, by_filter] {
        let status = running.ask(asked).await.unwrap_err();
        assert!(status.message().contains("(3840000 bytes)"), "{}", status.message());
        assert_small(&status);
    }
    let request = v1::GetGraphRequest { name: long };
    assert_small(&running.client.get_graph(request).await.unwrap_err());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_and_filters_are_counted_before_they_are_looked_up() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let asked = v1::Question {
        options: (0..101).map(|option| (format!("o{option}"), 1.0)).collect(),
        filter: (0..65).map(|field| (format!("f{field}"), String::new())).collect(),
        ..question(QUESTION)
    };
    let status = running.ask(asked).await.unwrap_err();
    assert_eq!(
        descriptions(&status),
        [
            (
                "question.filter".to_owned(),
                "must name at most 64 fields, names 65".to_owned()
            ),
            (
                "question.options".to_owned(),
                "must name at most 100 options, names 101".to_owned()
            ),
        ]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_to_check_is_bounded() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let yaml = format!("name: x\n#{}", "x".repeat(MAX_GRAPH_BYTES));
    let request = v1::ValidateGraphRequest {
        yaml,
        ..v1::ValidateGraphRequest::default()
    };
    let status = running.client.validate_graph(request).await.unwrap_err();
    assert_eq!(descriptions(&status)[0].0, "yaml");
    // The file is fine, and these options make more of it than can be checked.
    let yaml = builtin("self-corrective-rag")
        .source()
        .replace("max: 20,", "max: 10000,");
    let request = v1::ValidateGraphRequest {
        yaml: yaml.replace("max: 200,", "max: 10000,"),
        options: ["max_rewrites", "max_retries", "recursion_limit"]
            .map(|option| (option.to_owned(), 10_000.0))
            .into(),
    };
    let checked = running.client.validate_graph(request).await.unwrap().into_inner();
    assert!(checked.worst_case.is_none());
    let message = &checked.findings[0].message;
    assert!(
        message.contains("more than 100000 states; lower the limits"),
        "{message}"
    );
    running.stop().await;
}

/// Services whose generator cannot answer, and a count of the calls it gets.
fn failing(code: emend_core::Code, model_calls: u32) -> (Scripted, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let services = Scripted::default().generate(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Err(Failure {
            usage: Usage {
                model_calls,
                ..Usage::default()
            },
            ..Failure::new(Dependency::Generator, code, "chat model m is unavailable")
        })
    });
    (services, calls)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_failed_behind_its_service_is_not_asked_again() {
    let asked = v1::Question {
        graph: "plain-rag".to_owned(),
        ..question(QUESTION)
    };
    for code in [emend_core::Code::Unavailable, emend_core::Code::ResourceExhausted] {
        let (services, calls) = failing(code, 3);
        let mut running = Running::with(services, &[]).await;
        let result = running.ask(asked.clone()).await.unwrap();
        assert_eq!(result.status(), WalkStatus::Failed);
        assert_eq!(result.usage.unwrap().model_calls, 3);
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{code:?}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_down_is_asked_again() {
    let (services, calls) = failing(emend_core::Code::Unavailable, 0);
    let mut running = Running::with(services, &[]).await;
    let asked = v1::Question {
        graph: "plain-rag".to_owned(),
        ..question(QUESTION)
    };
    let result = running.ask(asked).await.unwrap();
    assert_eq!(result.status(), WalkStatus::Failed);
    assert_eq!(result.usage.unwrap().model_calls, 0);
    assert!(calls.load(Ordering::Relaxed) > 1);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_the_retriever_refuses_is_named_as_the_question_has_it() {
    let services = Scripted::default().retrieve(|_| {
        Err(Failure {
            violations: vec![emend_core::FieldViolation {
                field: "filter[\"lang\"]".to_owned(),
                description: "must be at most 1024 bytes with its name, is 2000".to_owned(),
            }],
            ..Failure::new(
                Dependency::Retriever,
                emend_core::Code::InvalidArgument,
                "invalid request",
            )
        })
    });
    let mut running = Running::with(services, &[]).await;
    let status = running.ask(question(QUESTION)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(descriptions(&status)[0].0, "question.filter[\"lang\"]");
    running.stop().await;
}
