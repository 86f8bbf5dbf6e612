//! The worst case as a formula of the graph's options.
//!
//! The cost of most graphs is a sum of products of their options: `3·max_count + 5·max_retries + 4`
//! steps. As many points as the sum has terms determine it, so it is computed from the cost at that
//! many points. It is used only if it also gives the exact cost at other points. A graph whose cost
//! is no such sum has no formula.

use std::fmt::Write as _;

use super::{Graph, OptionId, Options, Value, bound, bound::WorstCase, check, effort::Effort};

/// Most options in a formula. Each option doubles the number of worst cases to compute.
const MAX_VARIABLES: usize = 5;

/// The worst case in terms of the options; empty where no formula is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formulas {
    /// Steps.
    pub steps: String,
    /// Model calls, counting one for each passage graded.
    pub model_calls: String,
    /// Web searches.
    pub web_searches: String,
}

/// An option that the cost depends on, with its range. `base` and `base + 1` are the values that a
/// formula is computed from.
struct Variable<'a> {
    id: OptionId,
    name: &'a str,
    minimum: f64,
    maximum: f64,
    base: f64,
}

/// Formulas that would cost more than `effort` to find are left out.
pub(super) fn formulas(graph: &Graph, effort: &mut Effort) -> Formulas {
    // A formula describes what the edges bound. A cycle that only the recursion limit bounds has
    // none.
    if check::unbounded_cycles(graph).is_some() {
        return Formulas::default();
    }
    let variables = variables(graph, effort);
    if variables.len() > MAX_VARIABLES {
        return Formulas::default();
    }
    let mut cost = |point: &[f64]| -> Option<WorstCase> {
        let options = variables
            .iter()
            .zip(point)
            .fold(Options::defaults(graph.options()), |options, (variable, value)| {
                options.replaced(variable.id, *value)
            });
        bound::worst_case_within(graph, &options, u64::MAX, effort).ok()
    };
    let corners = 1_usize << variables.len();
    let at_corners: Option<Vec<WorstCase>> = (0..corners)
        .map(|corner| {
            let point: Vec<f64> = variables
                .iter()
                .enumerate()
                .map(|(place, variable)| variable.base + f64::from(u8::from(corner & (1 << place) != 0)))
                .collect();
            cost(&point)
        })
        .collect();
    let Some(at_corners) = at_corners else {
        return Formulas::default();
    };
    let elsewhere: Option<Vec<(Vec<f64>, WorstCase)>> = test_points(&variables)
        .into_iter()
        .map(|point| cost(&point).map(|cost| (point, cost)))
        .collect();
    let Some(elsewhere) = elsewhere else {
        return Formulas::default();
    };
    let formula = |figure: fn(&WorstCase) -> u64| {
        let values = at_corners.iter().map(|cost| as_number(figure(cost))).collect();
        let sum = SumOfProducts::through(values, &variables);
        let exact = elsewhere
            .iter()
            .all(|(point, cost)| (sum.at(point) - as_number(figure(cost))).abs() < 0.5);
        if exact { sum.text(&variables) } else { String::new() }
    };
    Formulas {
        steps: formula(|cost| cost.steps),
        model_calls: formula(|cost| cost.model_calls),
        web_searches: formula(|cost| cost.web_searches),
    }
}

fn as_number(figure: u64) -> f64 {
    figure as f64
}

/// The options that are counts and change the cost, except the limits of the whole walk.
fn variables<'a>(graph: &'a Graph, effort: &mut Effort) -> Vec<Variable<'a>> {
    let limits = [graph.limits().recursion, graph.limits().model_calls];
    graph
        .options()
        .iter()
        .enumerate()
        .map(|(index, option)| (OptionId(index), option))
        .filter(|(id, option)| {
            option.whole && option.maximum > option.minimum && !limits.contains(&Some(Value::Option(*id)))
        })
        .filter(|(id, _)| matters(graph, *id, effort))
        .map(|(id, option)| Variable {
            id,
            name: &option.name,
            minimum: option.minimum,
            maximum: option.maximum,
            // Not the minimum: a limit of 0 closes edges that every other value opens.
            base: option.minimum.max(1.0).min(option.maximum - 1.0),
        })
        .collect()
}

/// Whether the cost changes with an option at all.
fn matters(graph: &Graph, id: OptionId, effort: &mut Effort) -> bool {
    let option = &graph.options()[id.0];
    let defaults = Options::defaults(graph.options());
    let mut at = |value: f64| bound::worst_case_within(graph, &defaults.replaced(id, value), u64::MAX, effort).ok();
    let near = (option.minimum + 2.0).min(option.maximum);
    at(option.minimum) != at(near)
}

/// Points that verify a formula: all options at their minimum, all somewhat larger, and each option
/// varied by itself.
fn test_points(variables: &[Variable<'_>]) -> Vec<Vec<f64>> {
    let point = |value: &dyn Fn(usize, &Variable<'_>) -> f64| -> Vec<f64> {
        variables
            .iter()
            .enumerate()
            .map(|(place, variable)| value(place, variable).clamp(variable.minimum, variable.maximum))
            .collect()
    };
    let mut points = vec![
        point(&|_, variable| variable.minimum),
        point(&|_, variable| variable.base + 3.0),
    ];
    for alone in 0..variables.len() {
        for far in [-1.0, 3.0, 4.0] {
            points.push(point(&|place, variable| {
                variable.base + if place == alone { far } else { 0.0 }
            }));
            points.push(point(&|place, variable| {
                variable.base + if place == alone { far } else { 2.0 }
            }));
        }
    }
    points
}

/// A factor for each set of variables. The bits of its index say which variables are in the set.
struct SumOfProducts(Vec<f64>);

impl SumOfProducts {
    /// The only sum that has these values where each variable is at its base or one above.
    fn through(mut values: Vec<f64>, variables: &[Variable<'_>]) -> SumOfProducts {
        let sets = values.len();
        // Differences turn values at the corners into factors of products of (variable − base).
        for place in 0..variables.len() {
            for set in (0..sets).filter(|set| set & (1 << place) != 0) {
                values[set] -= values[set ^ (1 << place)];
            }
        }
        // And multiplying those out gives factors of products of the variables.
        for (place, variable) in variables.iter().enumerate() {
            for set in (0..sets).filter(|set| set & (1 << place) != 0) {
                values[set ^ (1 << place)] -= variable.base * values[set];
            }
        }
        SumOfProducts(values)
    }

    fn at(&self, point: &[f64]) -> f64 {
        let product = |set: usize| -> f64 {
            let factors = point.iter().enumerate().filter(|(place, _)| set & (1 << place) != 0);
            factors.map(|(_, value)| value).product()
        };
        self.0
            .iter()
            .enumerate()
            .map(|(set, factor)| factor * product(set))
            .sum()
    }

    /// The sum as text: products first, the constant last.
    fn text(&self, variables: &[Variable<'_>]) -> String {
        let mut sets: Vec<usize> = (0..self.0.len()).filter(|set| self.0[*set].round() != 0.0).collect();
        sets.sort_by_key(|set| (std::cmp::Reverse(set.count_ones()), *set));
        let mut text = String::new();
        for set in sets {
            let factor = self.0[set].round();
            let names: Vec<&str> = variables
                .iter()
                .enumerate()
                .filter(|(place, _)| set & (1 << place) != 0)
                .map(|(_, variable)| variable.name)
                .collect();
            let sign = match (text.is_empty(), factor < 0.0) {
                (true, false) => "",
                (true, true) => "−",
                (false, false) => " + ",
                (false, true) => " − ",
            };
            text.push_str(sign);
            let size = factor.abs();
            if names.is_empty() || size != 1.0 {
                // Writing to a string cannot fail.
                let _ = write!(text, "{size}{}", if names.is_empty() { "" } else { "·" });
            }
            text.push_str(&names.join("·"));
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
}

#[cfg(test)]
mod tests;
