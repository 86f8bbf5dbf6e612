//! The SVG that plots are drawn on.

use std::{fmt::Write as _, ops::Range};

use anyhow::Result;
use minijinja::HtmlEscape;
use plotters::{
    coord::{
        Shift,
        ranged1d::{DefaultFormatting, KeyPointHint, Ranged},
    },
    drawing::{DrawingArea, IntoDrawingArea as _},
    element::{Rectangle, Text},
    style::{BLACK, Color as _, RGBColor, ShapeStyle},
};
use plotters_svg::SVGBackend;

use super::About;

/// Width of every plot. It is scaled to the page, and still readable on a phone.
pub(super) const WIDTH: i32 = 480;
/// Room for the numbers beside the vertical axis.
pub(super) const LEFT: i32 = 44;
/// Room at the right end of the horizontal axis.
pub(super) const RIGHT: i32 = 20;
/// Height of a line of text.
pub(super) const LINE: i32 = 18;
/// Height of the letters.
pub(super) const LETTER: i32 = 13;
/// Mean width of a character.
const CHARACTER: f64 = 7.2;

/// Stand for the colours that the page knows, `--c0` and on; a series beyond them begins again with the first.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(217, 130, 0),
    RGBColor(0, 158, 115),
    RGBColor(185, 88, 143),
    RGBColor(109, 182, 226),
    RGBColor(196, 70, 1),
    RGBColor(138, 141, 147),
    RGBColor(184, 165, 0),
];
/// Stands for `--rule`.
pub(super) const RULE: RGBColor = RGBColor(216, 219, 224);

/// Where a plot is drawn.
pub(super) type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;

/// An axis: places from 0 to `end`.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Where it ends; above 0.
    pub end: f64,
    /// Places with a label and a line of the grid.
    pub ticks: Vec<f64>,
}

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        first + (value / self.end * f64::from(last - first)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        0.0..self.end
    }
}

/// What a pointer is told over a part of a plot.
#[derive(Clone, Debug)]
pub(super) struct Tooltip {
    /// From the left.
    pub x: Range<i32>,
    /// From the top.
    pub y: Range<i32>,
    /// What it says.
    pub text: String,
}

/// A series' colour.
pub(super) fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// A filled shape.
pub(super) fn filled(index: usize) -> ShapeStyle {
    colour(index).filled()
}

/// Draws the legend of `names` and their colours and below it, on `height`, what `draw` draws.
///
/// # Errors
/// A part has no room, or those of `draw`.
pub(super) fn svg(
    about: &About,
    names: &[(&str, usize)],
    height: i32,
    draw: impl FnOnce(&Area<'_>) -> Result<Vec<Tooltip>>,
) -> Result<String> {
    let top = legend_height(names);
    let size = (WIDTH.unsigned_abs(), (top + height).unsigned_abs());
    let mut drawn = String::new();
    let tooltips = {
        let root = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        legend(&root, names)?;
        let (_, below) = root.split_vertically(top);
        let tooltips = draw(&below)?;
        root.present()?;
        tooltips
    };
    let id = HtmlEscape(about.id);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>",
        size.0,
        size.1,
        HtmlEscape(&about.title),
        HtmlEscape(&about.description)
    );
    // What surrounds the shapes names its size and an address, which inline SVG does without.
    let shapes = drawn
        .split_once('>')
        .and_then(|(_, shapes)| shapes.rsplit_once("</svg>"));
    svg.push_str(&themed(shapes.map_or("", |(shapes, _)| shapes)));
    for Tooltip { x, y, text } in tooltips {
        let _ = write!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"tip\"><title>{}</title></rect>",
            x.start,
            y.start,
            x.end - x.start,
            y.end - y.start,
            HtmlEscape(&text)
        );
    }
    svg.push_str("</svg>");
    Ok(svg)
}

/// Shapes in the colours of the page. Quotation marks in what a plot says are escaped, so those here are of attributes.
fn themed(shapes: &str) -> String {
    let quoted = |RGBColor(r, g, b): RGBColor| format!("\"#{r:02X}{g:02X}{b:02X}\"");
    let mut themed = shapes
        .replace(&quoted(BLACK), "\"currentColor\"")
        .replace(&quoted(RULE), "\"var(--rule)\"");
    for (index, colour) in COLOURS.into_iter().enumerate() {
        themed = themed.replace(&quoted(colour), &format!("\"var(--c{index})\""));
    }
    themed
}

/// The series by colour and name, in as many lines as they need, from the top.
fn legend(root: &Area<'_>, names: &[(&str, usize)]) -> Result<()> {
    for ((x, y), (name, index)) in places(names).into_iter().zip(names) {
        root.draw(&Rectangle::new([(x, y + 4), (x + 10, y + 14)], filled(*index)))?;
        root.draw(&Text::new((*name).to_owned(), (x + 15, y + 2), ("sans-serif", LETTER)))?;
    }
    Ok(())
}

/// Where the entries of a legend stand.
fn places(names: &[(&str, usize)]) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (0, 0);
    let mut places = Vec::new();
    for (name, _) in names {
        let width = (30.0 + CHARACTER * name.chars().count() as f64) as i32;
        if x > 0 && x + width > WIDTH {
            (x, y) = (0, y + LINE);
        }
        places.push((x, y));
        x += width;
    }
    places
}

/// Height of a legend, with room below.
fn legend_height(names: &[(&str, usize)]) -> i32 {
    places(names).last().map_or(0, |(_, y)| y + LINE) + 8
}

#[cfg(test)]
mod tests;
