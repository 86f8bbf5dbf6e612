//! `emend eval`: graphs measured on questions whose answers are known, modes of search, and grades on labelled pairs.

mod corpus;
mod grades;
mod pairs;
mod qa;
mod retrieval;
mod services;

pub use self::{grades::grades, pairs::pairs, qa::qa, retrieval::retrieval};

/// Exit status of a measurement that Ctrl-C ended, as a shell reports it.
const STOPPED: u8 = 130;
