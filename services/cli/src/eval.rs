//! `emend eval`: graphs measured on questions whose answers are known.

mod data;
mod grades;
mod qa;
mod report;
mod score;

pub use self::grades::grades;
pub use self::qa::qa;
