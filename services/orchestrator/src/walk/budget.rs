//! What a question may cost, besides what its graph allows.

use std::time::Duration;

use emend_chassis::{Identity, keys::Resource};
use emend_proto::v1::Limit;

use crate::graph::Cost;

/// Limits on the cost of a walk; unset means no limit. A step that could exceed a limit is not
/// taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Most steps.
    pub steps: Option<u32>,
    /// Most model calls, counted as the worst case counts them: one for each passage graded,
    /// whatever the backend. Calls that a step made beyond that are counted after it.
    pub model_calls: Option<u32>,
    /// Most tokens, read and written. The tokens of a step are known only after it, so the walk
    /// ends after the step that reaches the limit.
    pub tokens: Option<u64>,
    /// Most web searches.
    pub web_searches: Option<u32>,
    /// Longest time.
    pub time: Option<Duration>,
}

/// What a walk has cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) steps: u32,
    pub(super) cost: Cost,
    pub(super) tokens: u64,
}

impl Budget {
    /// The limit that a step with this highest cost could exceed, and why; `None` if there is none.
    pub(super) fn exhausted(&self, spent: Spent, step: Cost) -> Option<(Limit, String)> {
        if let Some(most) = self.steps
            && spent.steps >= most
        {
            return Some((
                Limit::Steps,
                format!("the budget of {} was reached", counted(u64::from(most), "step")),
            ));
        }
        let after = spent.cost.plus(step);
        let over = |after: u64, step: u64, most: Option<u32>| most.filter(|most| step > 0 && after > u64::from(*most));
        if let Some(most) = over(after.model_calls, step.model_calls, self.model_calls) {
            return Some((
                Limit::ModelCalls,
                format!(
                    "the budget of {} leaves {} and the next step may need {}",
                    counted(u64::from(most), "model call"),
                    u64::from(most).saturating_sub(spent.cost.model_calls),
                    step.model_calls
                ),
            ));
        }
        if let Some(most) = over(after.web_searches, step.web_searches, self.web_searches) {
            return Some((
                Limit::WebSearches,
                format!("the budget of {} was reached", counted(u64::from(most), "web search")),
            ));
        }
        // Only steps that call a model or search the web can cost tokens.
        let most = self
            .tokens
            .filter(|most| step != Cost::default() && spent.tokens >= *most)?;
        Some((
            Limit::Tokens,
            format!(
                "the budget of {} was reached with {}",
                counted(most, "token"),
                spent.tokens
            ),
        ))
    }
}

/// The limit of the caller's day that a step with this highest cost could exceed, and why. Walks of one caller share it, so
/// it is looked at before each step.
pub(super) fn of_the_day(caller: &Identity, step: Cost) -> Option<(Limit, String)> {
    if step == Cost::default() {
        return None;
    }
    let left = match caller.left() {
        Ok((calls, _)) => calls?,
        Err(over) => {
            let limit = match over.resource {
                Resource::Tokens => Limit::Tokens,
                Resource::Calls | Resource::ModelCalls => Limit::ModelCalls,
            };
            return Some((limit, over.to_string()));
        }
    };
    (step.model_calls > left).then(|| {
        let reason = format!(
            "the budget of the day leaves {} and the next step may need {}",
            counted(left, "model call"),
            step.model_calls
        );
        (Limit::ModelCalls, reason)
    })
}

/// `1 step`, `2 steps`, `2 web searches`.
fn counted(number: u64, what: &str) -> String {
    let plural = match (number, what.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests;
