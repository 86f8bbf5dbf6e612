//! Plots as inline SVG and the pages that they stand on: self-contained HTML without scripts.
//!
//! A [`Figure`] is a plot with its numbers as a table, for readers who cannot see it. [`Bars`] and [`Lines`] make one;
//! [`page()`] renders a template that extends `page.html` and shows it by `{{ plot(figure) }}` of `figure.html`. Colours
//! are classes that the page's style sheet gives a light and a dark shade.

mod bars;
mod lines;
mod page;

use std::fmt::Write as _;

use minijinja::HtmlEscape;
use serde::Serialize;

pub(crate) use self::{
    bars::{Bars, Series, Stacked},
    lines::{Axis, Line, Lines},
    page::page,
};

/// Colours that the page knows; a series beyond them begins again with the first.
const COLOURS: usize = 8;

/// Width of every plot. It is scaled to the page, and still readable on a phone.
const WIDTH: f64 = 480.0;

/// Room for the numbers beside the vertical axis.
const LEFT: f64 = 44.0;

/// Room at the right end of the horizontal axis.
const RIGHT: f64 = 20.0;

/// Height of a line of text.
const LINE: f64 = 18.0;

/// Mean width of a character.
const CHARACTER: f64 = 7.2;

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

/// An SVG that is being written.
struct Svg {
    text: String,
}

impl Svg {
    /// Begins one with room for `height`, its title and its description for screen readers. `id` is unique on the page.
    fn new(id: &str, height: f64, title: &str, description: &str) -> Self {
        let (id, title, description) = (HtmlEscape(id), HtmlEscape(title), HtmlEscape(description));
        let text = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
             <title id=\"{id}-title\">{title}</title><desc id=\"{id}-desc\">{description}</desc>"
        );
        Self { text }
    }

    fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }

    /// A filled rectangle with a tooltip.
    fn bar(&mut self, [x, y, width, height]: [f64; 4], colour: usize, tooltip: &str) {
        let _ = write!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"c{}\">\
             <title>{}</title></rect>",
            colour % COLOURS,
            HtmlEscape(tooltip)
        );
    }

    /// A straight line: `grid`, `axis`, `whisker`.
    fn stroke(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let _ = write!(
            self.text,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        );
    }

    /// Text that starts, is centred or ends at `x`: `start`, `middle`, `end`.
    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let _ = write!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            HtmlEscape(text)
        );
    }

    /// The series by colour and name, in as many lines as they need, from the top.
    fn legend(&mut self, names: &[(&str, usize)]) {
        for ((x, line), (name, colour)) in places(names).into_iter().zip(names) {
            let y = line as f64 * LINE + 4.0;
            let _ = write!(
                self.text,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"10\" height=\"10\" class=\"c{}\"/>",
                colour % COLOURS
            );
            self.label(x + 15.0, y + 9.5, "start", name);
        }
    }
}

/// Where the entries of a legend stand: how far to the right, and in which line.
fn places(names: &[(&str, usize)]) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (0.0, 0);
    let mut places = Vec::new();
    for (name, _) in names {
        let width = 30.0 + CHARACTER * name.chars().count() as f64;
        if x > 0.0 && x + width > WIDTH {
            (x, line) = (0.0, line + 1);
        }
        places.push((x, line));
        x += width;
    }
    places
}

/// Height of a legend.
fn legend_height(names: &[(&str, usize)]) -> f64 {
    places(names)
        .last()
        .map_or(0.0, |(_, line)| (*line as f64 + 1.0) * LINE)
}

/// A share as the tables and tooltips word it.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests;
