//! Plots as inline SVG and the pages that they stand on: self-contained HTML without scripts.
//!
//! A [`Figure`] is a plot with its numbers as a table, for readers who cannot see it. [`Bars`], [`Stacked`] and
//! [`Lines`] make one; [`page()`] renders a template that extends `page.html` and shows it by `{{ plot(figure) }}` of
//! `figure.html`. Colours are variables that the page's style sheet gives a light and a dark shade.

mod bars;
mod canvas;
mod lines;
mod page;

use serde::Serialize;

pub(crate) use self::{
    bars::{Bars, Series, Stacked},
    lines::{Axis, Line, Lines},
    page::page,
};

/// A plot and its numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// What it shows.
    pub title: String,
    /// The plot.
    pub svg: String,
    /// The plot's numbers.
    pub table: Table,
}

/// Rows under named columns, as text.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Table {
    /// The columns; the first names the rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// What a plot is called, and what is to be seen for readers who do not see it.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Unique on the page.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What is to be seen.
    pub description: String,
}

/// A share as the tables and tooltips word it.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests;
