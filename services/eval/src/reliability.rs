//! Reliability diagrams: of what was said to be so likely, how much was right.

use anyhow::Result;
use emend_evaluator::metrics::Bin;
use serde_json::json;

use crate::plot::{About, Axis, Figure, Line, Lines, page};

/// The curve of one model or data set.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// What is judged, as a calibration names its models; curves of one task share a plot.
    pub(crate) task: &'static str,
    /// What the legend calls it.
    pub(crate) name: String,
    /// The judgements by their probability.
    pub(crate) bins: Vec<Bin>,
}

const TEMPLATE: &str = r#"{% extends "page.html" %}
{% from "figure.html" import plot %}
{% block title %}{{ title }}{% endblock %}
{% block body %}
<h1>{{ title }}</h1>
<p>Points on the diagonal are right as often as they say.</p>
<section class="figures">
{% for figure in figures %}{{ plot(figure) }}
{% endfor %}
</section>
{% endblock %}"#;

/// A page with a plot for each task, in the order of the curves.
///
/// # Errors
/// The page cannot be rendered.
pub(crate) fn diagram(title: &str, curves: &[Curve]) -> Result<String> {
    let figures = curves.chunk_by(|a, b| a.task == b.task).map(figure);
    let figures: Vec<Figure> = figures.collect::<Result<_>>()?;
    page(TEMPLATE, &json!({ "title": title, "figures": figures }))
}

fn figure(curves: &[Curve]) -> Result<Figure> {
    let task = curves.first().map_or("", |curve| curve.task);
    let line = |(colour, curve): (usize, &Curve)| Line {
        name: curve.name.clone(),
        colour,
        points: curve
            .bins
            .iter()
            .filter(|bin| bin.count > 0)
            .map(|bin| (bin.mean, bin.right))
            .collect(),
        marked: true,
    };
    let lines = Lines {
        about: About {
            id: task,
            title: format!("Reliability of {task}"),
            description: format!(
                "The share of right ones by the probability that was given, for {} curves",
                curves.len()
            ),
        },
        x: Axis::share("probability"),
        y: Axis::share("share that is right"),
        diagonal: true,
        lines: curves.iter().enumerate().map(line).collect(),
    };
    lines.figure()
}

#[cfg(test)]
mod tests;
