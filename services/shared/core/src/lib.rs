//! What every part of Emend agrees on, and what knows neither gRPC nor actors: kinds of errors, deadlines, the wait
//! between tries, limits on input, the names that telemetry uses, and files that are read again when they change.

mod address;
mod backoff;
mod cut;
mod deadline;
mod duration;
mod error;
mod files;
#[cfg(feature = "http")]
pub mod http;
pub mod limits;
mod names;
mod nearest;
mod places;
mod printable;
mod priority;
mod reason;
mod scope;
mod secret;
pub mod semconv;
mod span;
mod turns;
mod watched;

pub use address::without_secrets;
pub use backoff::{Backoff, retry_after};
pub use cut::{Cut, cut};
pub use deadline::{Deadline, DeadlineExceeded, Reserve};
pub use duration::duration;
pub use error::{Code, FieldViolation, MODEL_CALLS, Resource, ServiceError, error_chain};
pub use files::{BoundedLines, NumberedLine, open_regular, open_regular_unlinked};
pub use names::list_names;
pub use nearest::{did_you_mean, nearest};
pub use places::{Place, Places};
pub use printable::{is_obeyed, printable, printable_line};
pub use priority::{COMPUTE_NICENESS, let_others_first};
pub use reason::Reason;
pub use scope::Scope;
pub use secret::Secret;
pub use span::{MAX_DESCRIPTION_BYTES, fail_span};
pub use turns::{BrokenOff, PIECE_BYTES, Turns, as_caller};
pub use watched::{Source, Watched};
