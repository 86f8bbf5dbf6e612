//! What every part of Emend agrees on, and what knows neither gRPC nor actors: kinds of errors, deadlines, the wait
//! between tries, limits on input, the names that telemetry uses, and files that are read again when they change.

mod address;
mod backoff;
mod deadline;
mod error;
pub mod limits;
mod nearest;
mod printable;
mod scope;
pub mod semconv;
mod turns;
mod watched;

pub use address::without_secrets;
pub use backoff::Backoff;
pub use deadline::{Deadline, DeadlineExceeded, Reserve};
pub use error::{Code, FieldViolation, ServiceError, error_chain};
pub use nearest::{did_you_mean, nearest};
pub use printable::{is_obeyed, printable, printable_line};
pub use scope::Scope;
pub use turns::{BrokenOff, PIECE_BYTES, Turns};
pub use watched::{Source, Watched};
