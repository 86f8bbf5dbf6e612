//! The task of the generator's actor.

use emend_chassis::{EventSender, Task};
use emend_proto::v1::{GenerateRequest, GenerateResponse};

use crate::error::GenerateError;

/// Write an answer into the stream. The request is valid.
pub(crate) struct Generate {
    pub(crate) request: GenerateRequest,
    pub(crate) events: EventSender<GenerateResponse>,
}

impl Task for Generate {
    type Reply = ();
    type Error = GenerateError;
    const NAME: &'static str = "generate";
}
