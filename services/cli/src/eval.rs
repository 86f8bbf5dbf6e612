//! `emend eval`: graphs measured on questions whose answers are known, and grades on labelled pairs.

mod grades;
mod qa;

pub use self::{grades::grades, qa::qa};
