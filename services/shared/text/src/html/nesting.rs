//! How deep the elements of a page may nest, told from its tags without parsing it.

/// Elements that hold nothing, and those that the next one of their kind closes.
const FLAT: [&str; 30] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "p",
    "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "option", "optgroup", "rt", "rp",
    "html",
];
/// Elements whose content is text, whatever it looks like.
const RAW: [&str; 4] = ["script", "style", "textarea", "title"];
/// Elements within which a tag may close itself.
const FOREIGN: [&str; 2] = ["svg", "math"];

/// Whether more than `limit` elements are open at any place. May count an element that the parser would close by
/// itself, so the limit should be generous.
pub(super) fn deeper_than(html: &str, limit: usize) -> bool {
    let mut rest = html;
    let (mut depth, mut foreign) = (0_usize, 0_usize);
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end..]);
            continue;
        }
        let (closes, tag) = match rest.strip_prefix('/') {
            Some(tag) => (true, tag),
            None => (false, rest),
        };
        let length = tag
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .unwrap_or(tag.len());
        if !tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let name = tag[..length].to_ascii_lowercase();
        let name = name.as_str();
        let end = tag.find('>').unwrap_or(tag.len());
        let closes_itself = tag[..end].ends_with('/');
        rest = &tag[end..];
        if FLAT.contains(&name) || (foreign > 0 && closes_itself) {
            continue;
        }
        if closes {
            depth = depth.saturating_sub(1);
            foreign = foreign.saturating_sub(usize::from(FOREIGN.contains(&name)));
            continue;
        }
        if RAW.contains(&name) {
            rest = after_closing(rest, name);
            continue;
        }
        depth += 1;
        foreign += usize::from(FOREIGN.contains(&name));
        if depth > limit {
            return true;
        }
    }
    false
}

/// What follows the closing tag of a raw element.
fn after_closing<'t>(html: &'t str, name: &str) -> &'t str {
    let mut rest = html;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest
            .get(..name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name))
        {
            return rest;
        }
    }
    ""
}

#[cfg(test)]
mod tests;
