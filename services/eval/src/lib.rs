//! Measures what the system does: graphs on questions whose answers are known ([`qa`]), modes of search
//! ([`retrieval`]), grades on labelled pairs ([`grades`]), and fits the evaluator to such pairs ([`calibrate`]).
//!
//! What is measured is given by the caller: a [`qa::System`] that answers questions, an evaluator that grades. Outcomes
//! are values that show themselves as text for a terminal, as JSON and as a page of HTML; nothing is printed here.

pub mod calibrate;
pub mod candidates;
pub mod data;
pub mod grades;
pub mod pairs;
mod plot;
pub mod progress;
pub mod qa;
mod reliability;
pub mod report;
pub mod retrieval;
pub mod score;
