//! The nearest known name to a misspelt one.

/// A longer name is a mistake of another kind, and comparing it costs its length times that of every known name.
const MAX_NAME_CHARS: usize = 64;
/// From this likeness on, 0–1, a known name may be what was meant.
const MIN_LIKENESS: f64 = 0.6;

/// The known name that `name` most likely stands for; `None` where none is near, or `name` is longer than any name.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().nth(MAX_NAME_CHARS).is_some() {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean …?` where a known name is near, else nothing.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests;
