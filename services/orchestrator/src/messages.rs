//! What the actor is asked to do.

use emend_chassis::{EventSender, Task};
use emend_proto::v1::{AskStreamResponse, WalkResult};

use crate::walk::{WalkError, WalkRequest};

/// Walk, and answer with the result.
#[derive(Debug)]
pub struct Ask(pub WalkRequest);

impl Task for Ask {
    type Reply = WalkResult;
    type Error = WalkError;
    const NAME: &'static str = "ask";
}

/// Walk, and tell what happens; the last event is the result.
#[derive(Debug)]
pub struct AskStream {
    /// What to walk.
    pub walk_request: WalkRequest,
    /// Who reads along.
    pub events: EventSender<AskStreamResponse>,
}

impl Task for AskStream {
    type Reply = ();
    type Error = WalkError;
    const NAME: &'static str = "ask_stream";
}
