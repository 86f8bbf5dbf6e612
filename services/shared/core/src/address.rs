//! Addresses as they may be shown: errors, logs and `--help` must not give secrets away.

/// What stands for a secret.
const HIDDEN: &str = "***";

/// An address without its secrets: what stands before the last `@`, and the values of a query. What is no address is
/// treated as one without a scheme. A fragment stays: it names a model.
#[must_use]
pub fn without_secrets(address: &str) -> String {
    let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + "://".len()));
    // A password that is not escaped may hold any character, so the last `@` counts.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let Some((rest, query)) = rest.split_once('?') else {
        return [scheme, rest, fragment].concat();
    };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    [scheme, rest, "?", &query, fragment].concat()
}

#[cfg(test)]
mod tests;
