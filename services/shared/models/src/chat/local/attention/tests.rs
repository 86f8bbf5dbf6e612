use super::*;

fn numbers(count: usize, step: usize) -> Vec<f32> {
    (0..count).map(|n| ((n * step) % 97) as f32 / 48.0 - 1.0).collect()
}

/// The formula, one number at a time.
fn plain(queries: &[f32], keys: &[f32], values: &[f32], first: usize, heads: &Heads) -> Vec<f32> {
    let (width, kept) = (heads.queries * heads.size, heads.keys * heads.size);
    let mut seen = Vec::new();
    for row in 0..queries.len() / width {
        let place = first + row;
        for head in 0..heads.queries {
            let of = |rows: &[f32], other: usize, n: usize| {
                rows[other * kept + head * heads.keys / heads.queries * heads.size + n]
            };
            let score = |other: usize| -> f32 {
                let product = |n: usize| queries[row * width + head * heads.size + n] * of(keys, other, n);
                (0..heads.size).map(product).sum::<f32>() * heads.scale
            };
            let others: Vec<usize> = (0..=place)
                .filter(|other| heads.window.is_none_or(|window| place - other < window))
                .collect();
            let sum: f32 = others.iter().map(|other| score(*other).exp()).sum();
            for n in 0..heads.size {
                let share = |other: &usize| score(*other).exp() / sum * of(values, *other, n);
                seen.push(others.iter().map(share).sum());
            }
        }
    }
    seen
}

#[test]
fn it_is_what_the_formula_says() {
    for (size, before, new, window) in [
        (8, 0, 3, None),
        (20, 7, 1, None),
        (16, 30, 70, None),
        (16, 30, 70, Some(9)),
    ] {
        let heads = Heads {
            queries: 6,
            keys: 2,
            size,
            scale: 0.7,
            window,
        };
        let tokens = before + new;
        let (keys, values) = (numbers(tokens * 2 * size, 31), numbers(tokens * 2 * size, 17));
        let mut kept = KvCache::new(2);
        kept.extend(&keys, &values, size);
        kept.extend(&keys, &values, size);
        kept.truncate(tokens);
        let queries = numbers(new * 6 * size, 13);
        let seen = attend(&queries, &kept, before..tokens, &heads);
        let expected = plain(&queries, &keys, &values, before, &heads);
        let gap = seen
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(
            seen.len() == expected.len() && gap < 1e-5,
            "{size} {before} {new} {window:?}: {gap}"
        );
    }
}
