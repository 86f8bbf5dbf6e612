//! Feedback over the wire.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn feedback_is_kept_where_there_is_a_folder_for_it_and_refused_elsewhere() {
    let feedback = |verdict: v1::FeedbackVerdict| v1::RecordFeedbackRequest {
        feedback: Some(v1::Feedback {
            question: QUESTION.to_owned(),
            answer: "25".to_owned(),
            verdict: verdict.into(),
            ..v1::Feedback::default()
        }),
    };
    let right = v1::FeedbackVerdict::Right;
    let mut running = Running::with(Scripted::default(), &[]).await;
    let refused = running.client.record_feedback(feedback(right)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("--feedback-dir"), "{}", refused.message());
    running.stop().await;

    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--feedback-dir", folder.path().to_str().unwrap()];
    let mut running = Running::with(Scripted::default(), &arguments).await;
    let recorded = running
        .client
        .record_feedback(feedback(right))
        .await
        .unwrap()
        .into_inner();
    let refused = running
        .client
        .record_feedback(feedback(v1::FeedbackVerdict::Unspecified))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    running.stop().await;
    let mut kept = Vec::new();
    let read = crate::feedback::FeedbackFolder::read::<crate::feedback::FeedbackError>(folder.path(), |one| {
        kept.push(one.id);
        Ok(())
    });
    assert_eq!((read.unwrap(), kept), (0, vec![recorded.id]));
}
