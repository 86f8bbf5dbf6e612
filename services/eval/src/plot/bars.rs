//! Shares as bars: side by side, or stacked.

use anyhow::Result;
use plotters::{
    chart::ChartBuilder,
    element::{PathElement, Rectangle, Text},
    style::BLACK,
};

use super::{
    About, Figure, Table,
    canvas::{self, LEFT, LETTER, LINE, Places, RIGHT, RULE, Tooltip, WIDTH},
    percent,
};

/// Height of the plot itself.
const HEIGHT: i32 = 200;

/// Height of a stacked bar.
const BAR: i32 = 18;

/// One colour of bars.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Which of the page's colours, from 0.
    pub colour: usize,
    /// One share for each category, 0–1; none leaves a gap.
    pub shares: Vec<Option<f64>>,
    /// Intervals of the shares, 0–1; as many, or empty.
    pub intervals: Vec<Option<[f64; 2]>>,
}

impl Series {
    fn tooltip(&self, category: &str, share: f64) -> String {
        format!("{category}, {}: {}", self.name, percent(share))
    }
}

/// Shares of categories, one bar a series side by side.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// What it is called.
    pub about: About,
    /// What the categories are, for the table.
    pub category: String,
    /// The categories, from the left.
    pub categories: Vec<String>,
    /// The series, from the left within a category.
    pub series: Vec<Series>,
}

impl Bars {
    /// Draws them.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn figure(&self) -> Result<Figure> {
        let svg = canvas::svg(&self.about, &names(&self.series), HEIGHT + LINE + 8, |area| {
            self.draw(area)
        })?;
        Ok(Figure {
            title: self.about.title.clone(),
            svg,
            table: table(&self.category, &self.categories, &self.series),
        })
    }

    fn draw(&self, area: &canvas::Area<'_>) -> Result<Vec<Tooltip>> {
        // A category is one wide, with a twelfth of it free at each side.
        let count = self.categories.len().max(1) as f64;
        let middles = (0..self.categories.len()).map(|column| column as f64 + 0.5).collect();
        let width = 0.84 / self.series.len().max(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .margin_top(8)
            .margin_right(RIGHT)
            .x_label_area_size(LINE)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(
                Places {
                    end: count,
                    ticks: middles,
                },
                Places {
                    end: 1.0,
                    ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0],
                },
            )?;
        let category = |middle: &f64| self.categories.get(*middle as usize).cloned().unwrap_or_default();
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(RULE)
            .light_line_style(RULE)
            .axis_style(BLACK)
            .label_style(("sans-serif", LETTER))
            .x_label_formatter(&category)
            .y_label_formatter(&|share| format!("{:.0} %", 100.0 * share))
            .draw()?;
        let mut tooltips = Vec::new();
        for (column, category) in self.categories.iter().enumerate() {
            for (index, series) in self.series.iter().enumerate() {
                let Some(share) = series.shares.get(column).copied().flatten() else {
                    continue;
                };
                let left = column as f64 + 0.08 + width * index as f64;
                let right = left + 0.92 * width;
                let bar = Rectangle::new([(left, 0.0), (right, share)], canvas::filled(series.colour));
                chart.draw_series([bar])?;
                if let Some([low, high]) = series.intervals.get(column).copied().flatten() {
                    let middle = (left + right) / 2.0;
                    chart.draw_series([PathElement::new([(middle, low), (middle, high)], BLACK)])?;
                }
                let (from, to) = (chart.backend_coord(&(left, share)), chart.backend_coord(&(right, 0.0)));
                tooltips.push(Tooltip {
                    x: from.0..to.0,
                    y: from.1..to.1,
                    text: series.tooltip(category, share),
                });
            }
        }
        Ok(tooltips)
    }
}

/// Shares of a whole, one bar a category, from the top.
#[derive(Clone, Debug)]
pub(crate) struct Stacked {
    /// What it is called.
    pub about: About,
    /// What the categories are, for the table.
    pub category: String,
    /// The categories, from the top.
    pub categories: Vec<String>,
    /// The parts, from the left. Together they are at most 1 in each category.
    pub series: Vec<Series>,
}

impl Stacked {
    /// Draws them.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn figure(&self) -> Result<Figure> {
        let row = LINE + BAR + 8;
        let height = row * i32::try_from(self.categories.len())?;
        let draw = |area: &canvas::Area<'_>| {
            let (_, above) = area.get_base_pixel();
            let mut tooltips = Vec::new();
            let mut top = 0;
            for (index, category) in self.categories.iter().enumerate() {
                area.draw(&Text::new(category.clone(), (0, top), ("sans-serif", LETTER)))?;
                let (bar, mut left) = (top + LINE, 0.0);
                for series in &self.series {
                    let share = series.shares.get(index).copied().flatten().unwrap_or_default();
                    let right = left + share;
                    let x = |share: f64| (share * f64::from(WIDTH)).round() as i32;
                    if share > 0.0 {
                        let corners = [(x(left), bar), (x(right), bar + BAR)];
                        area.draw(&Rectangle::new(corners, canvas::filled(series.colour)))?;
                        tooltips.push(Tooltip {
                            x: x(left)..x(right),
                            y: above + bar..above + bar + BAR,
                            text: series.tooltip(category, share),
                        });
                    }
                    left = right;
                }
                top += row;
            }
            Ok(tooltips)
        };
        Ok(Figure {
            title: self.about.title.clone(),
            svg: canvas::svg(&self.about, &names(&self.series), height, draw)?,
            table: table(&self.category, &self.categories, &self.series),
        })
    }
}

fn names(series: &[Series]) -> Vec<(&str, usize)> {
    series.iter().map(|one| (one.name.as_str(), one.colour)).collect()
}

/// One row a category, one column a series.
fn table(category: &str, categories: &[String], series: &[Series]) -> Table {
    let cell = |index: usize, series: &Series| {
        let share = series.shares.get(index).copied().flatten();
        let interval = series.intervals.get(index).copied().flatten();
        match (share, interval) {
            (Some(share), Some([low, high])) => format!("{} [{}, {}]", percent(share), percent(low), percent(high)),
            (Some(share), None) => percent(share),
            (None, _) => "–".to_owned(),
        }
    };
    let row = |(index, name): (usize, &String)| {
        let cells = series.iter().map(|series| cell(index, series));
        std::iter::once(name.clone()).chain(cells).collect()
    };
    let names = series.iter().map(|series| series.name.clone());
    Table {
        columns: std::iter::once(category.to_owned()).chain(names).collect(),
        rows: categories.iter().enumerate().map(row).collect(),
    }
}
