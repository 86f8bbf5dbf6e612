//! The nearest known name to a misspelt one.

/// Longest name that is compared, in characters: a comparison costs the product of both lengths.
const MAX_NAME_CHARS: usize = 64;
/// Least similarity, 0–1, at which a known name is suggested.
const MIN_LIKENESS: f64 = 0.6;

/// The known name that `name` most likely stands for; `None` where none is near, or `name` is longer than any name. Known
/// names that are longer than that are not compared either.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = length(name)?;
    known
        .into_iter()
        .filter(|candidate| self::length(candidate).is_some_and(|other| may_be_near(length, other)))
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Characters of a name; `None` for what is longer than any name, without counting all of it.
fn length(name: &str) -> Option<usize> {
    let length = name.chars().take(MAX_NAME_CHARS + 1).count();
    (length <= MAX_NAME_CHARS).then_some(length)
}

/// Whether names of these lengths can be alike enough: each character that one has more is a change. It spares most
/// comparisons.
fn may_be_near(a: usize, b: usize) -> bool {
    let (shorter, longer) = (a.min(b), a.max(b));
    shorter as f64 >= MIN_LIKENESS * longer as f64
}

/// `; did you mean …?` where a known name is near, else nothing.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests;
