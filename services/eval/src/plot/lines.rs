//! Points joined by lines: distributions, reliability diagrams.

use std::fmt::Write as _;

use super::{COLOURS, Figure, LEFT, LINE, RIGHT, Svg, Table, WIDTH, legend_height};

/// Height of the plot itself.
const HEIGHT: f64 = 240.0;

/// Numbers along an axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What they are, with the unit.
    pub label: String,
    /// Where the axis begins; above 0 when logarithmic.
    pub low: f64,
    /// Where it ends; above `low`.
    pub high: f64,
    /// Whether each step multiplies.
    pub logarithmic: bool,
    /// Decimals of its numbers.
    pub decimals: usize,
}

impl Axis {
    /// Shares from 0 to 1.
    #[must_use]
    pub(crate) fn share(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            low: 0.0,
            high: 1.0,
            logarithmic: false,
            decimals: 2,
        }
    }

    /// How far along the axis a value is, 0–1; what lies outside is put at the end.
    fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }

    /// Values with a number and a line of the grid: the decades, or four steps.
    fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return (0..=4)
                .map(|step| self.low + (self.high - self.low) * f64::from(step) / 4.0)
                .collect();
        }
        let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
        (first..=last).map(|power| 10f64.powi(power)).collect()
    }
}

/// Points joined from the first to the last.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What the legend calls it.
    pub name: String,
    /// Which of the page's colours, from 0.
    pub colour: usize,
    /// The points, horizontal first.
    pub points: Vec<(f64, f64)>,
    /// Whether each point is marked.
    pub marked: bool,
}

/// Lines over two axes.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// Unique on the page.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What is to be seen, for readers who do not see it.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Whether a dashed line joins the corner where both begin with the one where both end: of a calibrated score.
    pub diagonal: bool,
    /// The lines.
    pub lines: Vec<Line>,
}

impl Lines {
    /// Draws them.
    #[must_use]
    pub(crate) fn figure(&self) -> Figure {
        let names: Vec<_> = self.lines.iter().map(|one| (one.name.as_str(), one.colour)).collect();
        let top = legend_height(&names) + LINE + 8.0;
        let bottom = top + HEIGHT;
        let mut svg = Svg::new(self.id, bottom + 2.0 * LINE + 4.0, &self.title, &self.description);
        svg.legend(&names);
        svg.label(0.0, top - 10.0, "start", &self.y.label);
        let x = |value: f64| LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| bottom - self.y.place(value) * HEIGHT;
        for tick in self.y.ticks() {
            svg.stroke([LEFT, y(tick), WIDTH - RIGHT, y(tick)], "grid");
            svg.label(LEFT - 5.0, y(tick) + 4.0, "end", &format!("{tick:.*}", self.y.decimals));
        }
        for tick in self.x.ticks() {
            svg.stroke([x(tick), top, x(tick), bottom], "grid");
            svg.label(
                x(tick),
                bottom + LINE - 3.0,
                "middle",
                &format!("{tick:.*}", self.x.decimals),
            );
        }
        svg.stroke([LEFT, bottom, WIDTH - RIGHT, bottom], "axis");
        svg.stroke([LEFT, top, LEFT, bottom], "axis");
        svg.label(
            (LEFT + WIDTH - RIGHT) / 2.0,
            bottom + 2.0 * LINE - 3.0,
            "middle",
            &self.x.label,
        );
        if self.diagonal {
            svg.stroke([LEFT, bottom, WIDTH - RIGHT, top], "diagonal");
        }
        for line in &self.lines {
            let colour = line.colour % COLOURS;
            let mut path = String::new();
            for (across, up) in &line.points {
                let _ = write!(path, "{:.1},{:.1} ", x(*across), y(*up));
            }
            let _ = write!(
                svg.text,
                "<polyline points=\"{}\" class=\"l{colour}\"/>",
                path.trim_end()
            );
            for (across, up) in line.points.iter().filter(|_| line.marked) {
                let _ = write!(
                    svg.text,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" class=\"c{colour}\"/>",
                    x(*across),
                    y(*up)
                );
            }
        }
        Figure {
            title: self.title.clone(),
            svg: svg.finish(),
            table: self.table(),
        }
    }

    /// One row a point.
    fn table(&self) -> Table {
        let row = |line: &Line, (across, up): &(f64, f64)| {
            vec![
                line.name.clone(),
                format!("{across:.*}", self.x.decimals),
                format!("{up:.*}", self.y.decimals),
            ]
        };
        let rows = |line| {
            let line: &Line = line;
            line.points.iter().map(move |point| row(line, point))
        };
        Table {
            columns: vec!["line".to_owned(), self.x.label.clone(), self.y.label.clone()],
            rows: self.lines.iter().flat_map(rows).collect(),
        }
    }
}
