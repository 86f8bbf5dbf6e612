use std::convert::Infallible;

use super::*;

/// A search over a fixed list that counts its calls.
fn over<'a>(
    all: &'a [(u32, f64)],
    asked: &'a mut Vec<usize>,
) -> impl FnMut(usize) -> Result<Candidates<u32>, Infallible> + 'a {
    move |limit| {
        asked.push(limit);
        Ok(Candidates {
            units: all.iter().take(limit).copied().collect(),
            exhausted: limit > all.len(),
        })
    }
}

#[test]
fn candidates_are_grouped_by_parent_with_the_best_score() {
    let all = [(7, 0.9), (7, 0.8), (3, 0.7), (7, 0.6)];
    let Ok(found) = gather(10, 10, over(&all, &mut Vec::new()));
    assert_eq!(found, [(7, 0.9), (3, 0.7)]);
}

#[test]
fn one_parent_with_many_children_does_not_crowd_out_the_others() {
    let mut all: Vec<(u32, f64)> = (0..100).map(|child| (1, 0.99 - f64::from(child) / 1000.0)).collect();
    all.extend([(2, 0.5), (3, 0.4), (4, 0.3)]);
    let mut asked = Vec::new();
    let Ok(found) = gather(3, 12, over(&all, &mut asked));
    assert_eq!(found.iter().map(|(unit, _)| *unit).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(asked, [12, 48, 192]);
}

#[test]
fn ties_have_a_deterministic_order() {
    let one = [(4, 0.5), (2, 0.5), (9, 0.5), (1, 0.5)];
    let mut other = one;
    other.reverse();
    let Ok(first) = gather(2, 1, over(&one, &mut Vec::new()));
    let Ok(second) = gather(2, 1, over(&other, &mut Vec::new()));
    assert_eq!(first, [(1, 0.5), (2, 0.5)]);
    assert_eq!(first, second);
}

#[test]
fn the_search_stops_when_candidates_are_exhausted() {
    let mut asked = Vec::new();
    let Ok(found) = gather(5, 4, over(&[(1, 0.1)], &mut asked));
    assert_eq!(found, [(1, 0.1)]);
    assert_eq!(asked, [4]);
}

#[test]
fn what_comes_after_enough_changes_nothing() {
    let (mut state, mut looked_at, mut all) = (7_u32, 0, 0);
    for limit in 1..20 {
        // Best first, with ties, and several candidates of a unit.
        let found: Vec<(u32, f64)> = (0..60)
            .map(|place| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16 & 15, f64::from(60 - place) / 4.0)
            })
            .map(|(unit, score)| (unit, score.floor()))
            .collect();
        let mut enough = Enough::new(limit);
        let end = found.iter().position(|(unit, score)| enough.with(*unit, *score));
        let few = &found[..end.map_or(found.len(), |end| end + 1)];
        let best = |units: &[(u32, f64)]| {
            let Ok(best) = gather(limit, 1000, over(units, &mut Vec::new()));
            best
        };
        assert_eq!(best(few), best(&found), "{limit}");
        looked_at += few.len();
        all += found.len();
    }
    assert!(looked_at * 2 < all, "{looked_at} of {all}");
}
