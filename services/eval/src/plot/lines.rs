//! Points joined by lines: distributions, reliability diagrams.

use anyhow::Result;
use plotters::{
    chart::ChartBuilder,
    element::Circle,
    series::{DashedLineSeries, LineSeries},
    style::{BLACK, Color as _},
};

use super::{
    About, Figure, Table,
    canvas::{self, LEFT, LETTER, LINE, Places, RIGHT, RULE, Tooltip},
};

/// Height of the plot itself.
const HEIGHT: i32 = 240;

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

    /// The number at a place.
    fn label(&self, place: f64) -> String {
        let value = if self.logarithmic {
            (self.low.ln() + place * (self.high.ln() - self.low.ln())).exp()
        } else {
            self.low + place * (self.high - self.low)
        };
        format!("{value:.*}", self.decimals)
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
    /// What it is called.
    pub about: About,
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
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn figure(&self) -> Result<Figure> {
        let names: Vec<_> = self.lines.iter().map(|one| (one.name.as_str(), one.colour)).collect();
        let height = HEIGHT + 2 * LINE + 16;
        Ok(Figure {
            title: self.about.title.clone(),
            svg: canvas::svg(&self.about, &names, height, |area| self.draw(area))?,
            table: self.table(),
        })
    }

    /// Over places on the axes, 0–1, so that a logarithmic axis is drawn as the other.
    fn draw(&self, area: &canvas::Area<'_>) -> Result<Vec<Tooltip>> {
        let places = |axis: &Axis| Places {
            end: 1.0,
            ticks: axis.ticks().into_iter().map(|tick| axis.place(tick)).collect(),
        };
        let mut chart = ChartBuilder::on(area)
            .margin_top(8)
            .margin_right(RIGHT)
            .x_label_area_size(2 * LINE + 8)
            .y_label_area_size(LEFT + LINE)
            .build_cartesian_2d(places(&self.x), places(&self.y))?;
        chart
            .configure_mesh()
            .bold_line_style(RULE)
            .light_line_style(RULE)
            .axis_style(BLACK)
            .label_style(("sans-serif", LETTER))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|place| self.x.label(*place))
            .y_label_formatter(&|place| self.y.label(*place))
            .draw()?;
        if self.diagonal {
            // Dashes are cut from points that are close to each other.
            let points = (0..=100).map(|step| (f64::from(step) / 100.0, f64::from(step) / 100.0));
            chart.draw_series(DashedLineSeries::new(points, 5, 4, BLACK.stroke_width(1)))?;
        }
        for line in &self.lines {
            let place = |(across, up): &(f64, f64)| (self.x.place(*across), self.y.place(*up));
            let points: Vec<_> = line.points.iter().map(place).collect();
            let marks = points.iter().filter(|_| line.marked);
            let marks: Vec<_> = marks
                .map(|point| Circle::new(*point, 3, canvas::filled(line.colour)))
                .collect();
            chart.draw_series(LineSeries::new(points, canvas::colour(line.colour).stroke_width(2)))?;
            chart.draw_series(marks)?;
        }
        Ok(Vec::new())
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
