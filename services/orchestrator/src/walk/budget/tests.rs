use super::*;

fn cost(model_calls: u64, web_searches: u64) -> Cost {
    Cost {
        model_calls,
        web_searches,
    }
}

#[test]
fn a_step_that_could_go_over_is_not_taken() {
    let budget = Budget {
        model_calls: Some(6),
        ..Budget::default()
    };
    let spent = Spent {
        cost: cost(4, 0),
        ..Spent::default()
    };
    assert_eq!(budget.exhausted(spent, cost(2, 0)), None);
    let (limit, reason) = budget.exhausted(spent, cost(3, 0)).unwrap();
    assert_eq!(limit, Limit::ModelCalls);
    assert_eq!(
        reason,
        "the budget of 6 model calls leaves 2 and the next step may need 3"
    );
}

#[test]
fn what_a_step_does_not_cost_does_not_stop_it() {
    let budget = Budget {
        model_calls: Some(0),
        web_searches: Some(0),
        tokens: Some(10),
        ..Budget::default()
    };
    let spent = Spent {
        tokens: 10,
        ..Spent::default()
    };
    assert_eq!(budget.exhausted(spent, Cost::default()), None);
    assert_eq!(budget.exhausted(spent, cost(0, 1)).unwrap().0, Limit::WebSearches);
    let asked = Budget {
        tokens: Some(10),
        ..Budget::default()
    };
    assert_eq!(asked.exhausted(spent, cost(1, 0)).unwrap().0, Limit::Tokens);
    assert_eq!(asked.exhausted(Spent { tokens: 9, ..spent }, cost(1, 0)), None);
}
