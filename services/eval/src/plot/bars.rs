//! Shares as bars: side by side, or stacked.

use super::{Figure, LEFT, LINE, RIGHT, Svg, Table, WIDTH, legend_height, percent};

/// Height of the plot itself.
const HEIGHT: f64 = 200.0;

/// Height of a stacked bar.
const BAR: f64 = 18.0;

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

/// Shares of categories, one bar a series side by side.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// Unique on the page.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What is to be seen, for readers who do not see it.
    pub description: String,
    /// What the categories are, for the table.
    pub category: String,
    /// The categories, from the left.
    pub categories: Vec<String>,
    /// The series, from the left within a category.
    pub series: Vec<Series>,
}

impl Bars {
    /// Draws them.
    #[must_use]
    pub(crate) fn figure(&self) -> Figure {
        let names: Vec<_> = self.series.iter().map(|one| (one.name.as_str(), one.colour)).collect();
        let top = legend_height(&names) + 8.0;
        let bottom = top + HEIGHT;
        let mut svg = Svg::new(self.id, bottom + LINE + 4.0, &self.title, &self.description);
        svg.legend(&names);
        let y = |share: f64| bottom - share * HEIGHT;
        for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let class = if tick > 0.0 { "grid" } else { "axis" };
            svg.stroke([LEFT, y(tick), WIDTH - RIGHT, y(tick)], class);
            svg.label(LEFT - 5.0, y(tick) + 4.0, "end", &format!("{:.0} %", 100.0 * tick));
        }
        let group = (WIDTH - LEFT - RIGHT) / self.categories.len().max(1) as f64;
        let width = 0.84 * group / self.series.len().max(1) as f64;
        for (column, category) in self.categories.iter().enumerate() {
            let left = LEFT + group * (column as f64 + 0.08);
            svg.label(
                LEFT + group * (column as f64 + 0.5),
                bottom + LINE - 3.0,
                "middle",
                category,
            );
            for (index, series) in self.series.iter().enumerate() {
                let Some(share) = series.shares.get(column).copied().flatten() else {
                    continue;
                };
                let x = left + width * index as f64;
                let tooltip = format!("{category}, {}: {}", series.name, percent(share));
                svg.bar([x, y(share), width * 0.92, share * HEIGHT], series.colour, &tooltip);
                if let Some([low, high]) = series.intervals.get(column).copied().flatten() {
                    let middle = x + width * 0.46;
                    svg.stroke([middle, y(low), middle, y(high)], "whisker");
                }
            }
        }
        Figure {
            title: self.title.clone(),
            svg: svg.finish(),
            table: table(&self.category, &self.categories, &self.series),
        }
    }
}

/// Shares of a whole, one bar a category, from the top.
#[derive(Clone, Debug)]
pub(crate) struct Stacked {
    /// Unique on the page.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What is to be seen, for readers who do not see it.
    pub description: String,
    /// What the categories are, for the table.
    pub category: String,
    /// The categories, from the top.
    pub categories: Vec<String>,
    /// The parts, from the left. Together they are at most 1 in each category.
    pub series: Vec<Series>,
}

impl Stacked {
    /// Draws them.
    #[must_use]
    pub(crate) fn figure(&self) -> Figure {
        let names: Vec<_> = self.series.iter().map(|one| (one.name.as_str(), one.colour)).collect();
        let top = legend_height(&names) + 8.0;
        let row = LINE + BAR + 8.0;
        let height = top + row * self.categories.len() as f64;
        let mut svg = Svg::new(self.id, height, &self.title, &self.description);
        svg.legend(&names);
        for (index, category) in self.categories.iter().enumerate() {
            let y = top + row * index as f64;
            svg.label(0.0, y + LINE - 5.0, "start", category);
            let mut x = 0.0;
            for series in &self.series {
                let share = series.shares.get(index).copied().flatten().unwrap_or_default();
                let width = share * WIDTH;
                if width > 0.0 {
                    let tooltip = format!("{category}, {}: {}", series.name, percent(share));
                    svg.bar([x, y + LINE, width, BAR], series.colour, &tooltip);
                }
                x += width;
            }
        }
        Figure {
            title: self.title.clone(),
            svg: svg.finish(),
            table: table(&self.category, &self.categories, &self.series),
        }
    }
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
