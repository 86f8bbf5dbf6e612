//! `emend eval`: graphs measured on questions whose answers are known.

mod data;
mod qa;
mod report;
mod score;

pub use self::qa::qa;
