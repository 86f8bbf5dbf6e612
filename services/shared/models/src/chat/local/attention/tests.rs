use super::*;

fn numbers(count: usize, step: usize) -> Vec<f32> {
    (0..count).map(|n| ((n * step) % 97) as f32 / 48.0 - 1.0).collect()
}

/// Scalar reference implementation.
fn reference(queries: &[f32], keys: &[f32], values: &[f32], first: usize, heads: &Heads) -> Vec<f32> {
    let (width, kv_width) = (heads.queries * heads.size, heads.keys * heads.size);
    let mut output = Vec::new();
    for row in 0..queries.len() / width {
        let position = first + row;
        for head in 0..heads.queries {
            let value_at = |rows: &[f32], other: usize, n: usize| {
                rows[other * kv_width + head * heads.keys / heads.queries * heads.size + n]
            };
            let score = |other: usize| -> f32 {
                let product = |n: usize| queries[row * width + head * heads.size + n] * value_at(keys, other, n);
                (0..heads.size).map(product).sum::<f32>() * heads.scale
            };
            let others: Vec<usize> = (0..=position)
                .filter(|other| heads.window.is_none_or(|window| position - other < window))
                .collect();
            let sum: f32 = others.iter().map(|other| score(*other).exp()).sum();
            for n in 0..heads.size {
                let share = |other: &usize| score(*other).exp() / sum * value_at(values, *other, n);
                output.push(others.iter().map(share).sum());
            }
        }
    }
    output
}

#[test]
fn attention_matches_the_reference() {
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
        let mut cache = KvCache::new(2);
        cache.extend(&keys, &values, size);
        cache.extend(&keys, &values, size);
        cache.truncate(tokens);
        let queries = numbers(new * 6 * size, 13);
        let output = attend(&queries, &cache, before..tokens, &heads);
        let expected = reference(&queries, &keys, &values, before, &heads);
        let error = output
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(
            output.len() == expected.len() && error < 1e-5,
            "{size} {before} {new} {window:?}: {error}"
        );
    }
}
