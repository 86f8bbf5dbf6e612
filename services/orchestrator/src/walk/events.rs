//! Events about the progress of a walk.

use emend_chassis::EventSender;
use emend_proto::v1::{
    AskStreamResponse, EdgeTaken, Sentence, SentenceCommitted, SentenceRetracted, Step, StepFinished, StepStarted,
    TextDelta, WalkEvent, WalkResult, walk_event::Event,
};
use tokio::time::Instant;

use super::{error::WalkError, size};

/// Where events go: to a reader or nowhere. A slow reader slows the walk down (backpressure).
#[derive(Clone, Debug)]
pub struct Events {
    reader: Option<EventSender<AskStreamResponse>>,
    began: Instant,
}

impl Events {
    /// Sends events to a reader; their elapsed time counts from now.
    pub fn to(reader: EventSender<AskStreamResponse>) -> Events {
        Events {
            reader: Some(reader),
            began: Instant::now(),
        }
    }

    /// Discards events.
    pub fn none() -> Events {
        Events {
            reader: None,
            began: Instant::now(),
        }
    }

    /// Sends an event if there is a reader. Without one, `event` is not called.
    async fn send(&self, event: impl FnOnce() -> Event) -> Result<(), WalkError> {
        let Some(reader) = &self.reader else {
            return Ok(());
        };
        let event = WalkEvent {
            elapsed: self.began.elapsed().try_into().ok(),
            event: Some(event()),
        };
        reader
            .send(AskStreamResponse { event: Some(event) })
            .await
            .map_err(|_| WalkError::CallerGone)
    }

    pub(super) async fn step_started(&self, step: u32, node: &str, action: &str) -> Result<(), WalkError> {
        self.send(|| {
            Event::StepStarted(StepStarted {
                step,
                node: node.to_owned(),
                action: action.to_owned(),
            })
        })
        .await
    }

    pub(super) async fn step_finished(&self, step: Step) -> Result<(), WalkError> {
        self.send(|| {
            let mut step = step;
            size::fit_step(&mut step);
            Event::StepFinished(StepFinished { step: Some(step) })
        })
        .await
    }

    pub(super) async fn edge_taken(&self, edge: EdgeTaken) -> Result<(), WalkError> {
        self.send(|| Event::EdgeTaken(edge)).await
    }

    pub(super) async fn text_delta(&self, text: String, attempt: u32) -> Result<(), WalkError> {
        self.send(|| Event::TextDelta(TextDelta { text, attempt })).await
    }

    pub(super) async fn committed(&self, sentence: &Sentence, attempt: u32) -> Result<(), WalkError> {
        self.send(|| {
            Event::SentenceCommitted(SentenceCommitted {
                sentence: Some(sentence.clone()),
                attempt,
            })
        })
        .await
    }

    pub(super) async fn retracted(&self, sentence: &Sentence, attempt: u32) -> Result<(), WalkError> {
        self.send(|| {
            Event::SentenceRetracted(SentenceRetracted {
                sentence: Some(sentence.clone()),
                attempt,
            })
        })
        .await
    }

    /// Sends the result, which is the last event.
    pub async fn finished(&self, result: &WalkResult) -> Result<(), WalkError> {
        self.send(|| Event::Finished(result.clone())).await
    }
}
