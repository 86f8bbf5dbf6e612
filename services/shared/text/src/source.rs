//! What a path or an address calls a document.

/// Segments of a path that name what it leads to: a file is often called by its folder, as in `tokio-1.54.1/README.md`.
const SEGMENTS: usize = 2;
/// Longest extension of a file name, in bytes.
const MAX_EXTENSION: usize = 5;
/// Longest source that is read, in bytes, from its end.
const MAX_BYTES: usize = 1 << 10;

/// The name that a path or an address gives a document: its last two segments without the extension, and its versions also
/// without their last number, as people say them. `crates/base64-0.22.1/README.md` is `base64-0.22.1 README 0.22`.
#[must_use]
pub fn source_name(source: &str) -> String {
    let source = source
        .get(source.ceil_char_boundary(source.len().saturating_sub(MAX_BYTES))..)
        .unwrap_or(source);
    let path = match source.split_once("://") {
        Some((_, address)) => {
            let address = address.split(['?', '#']).next().unwrap_or(address);
            let (host, path) = address.split_once('/').unwrap_or((address, ""));
            if path.trim_matches('/').is_empty() {
                return host.to_owned();
            }
            path
        }
        None => source,
    };
    let mut segments = path.rsplit(['/', '\\']).filter(|segment| !segment.is_empty());
    let file = segments.next().map(without_extension);
    let mut named: Vec<&str> = file.into_iter().chain(segments.take(SEGMENTS - 1)).collect();
    named.reverse();
    let shorter: Vec<&str> = named.iter().flat_map(|segment| shorter_versions(segment)).collect();
    named.extend(shorter);
    named.join(" ")
}

fn without_extension(file: &str) -> &str {
    match file.rsplit_once('.') {
        Some((name, extension))
            if !name.is_empty()
                && (1..=MAX_EXTENSION).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && extension.bytes().any(|byte| byte.is_ascii_alphabetic()) =>
        {
            name
        }
        _ => file,
    }
}

/// The versions of a segment without their last number: `0.22` of `base64-0.22.1`.
fn shorter_versions(segment: &str) -> impl Iterator<Item = &str> {
    let runs = segment.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    runs.filter_map(|run| {
        let run = run.trim_matches('.');
        let (shorter, _) = run.rsplit_once('.')?;
        shorter.contains('.').then_some(shorter)
    })
}

#[cfg(test)]
mod tests;
