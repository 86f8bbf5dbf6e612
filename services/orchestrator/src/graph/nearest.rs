//! The nearest known name to a misspelt one.

/// `; did you mean …?` when a known name is near enough to `name`, else nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn a_near_name_is_offered_and_a_far_one_is_not() {
        let known = ["retrieve", "rewrite", "generate"];
        assert_eq!(did_you_mean("retreive", known), "; did you mean `retrieve`?");
        assert_eq!(did_you_mean("zebra", known), "");
    }
}
