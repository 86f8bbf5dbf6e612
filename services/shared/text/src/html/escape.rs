//! What of a text Markdown would take for marks.

/// Appends `text` such that Markdown reads it as it stands; `text` is one piece between two tags.
pub(super) fn push(out: &mut String, text: &str, is_start: bool) {
    if is_start && begins_block(text) {
        out.push('\\');
    }
    let dot = if is_start { number_dot(text) } else { None };
    for (at, c) in text.char_indices() {
        let is_mark = match c {
            '\\' | '*' | '_' | '`' | '[' | ']' => true,
            '<' => begins_tag(&text[at + 1..]),
            '.' => dot == Some(at),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Whether a text would begin a heading, a quotation, a list or a fence, or make a heading of the line above.
fn begins_block(text: &str) -> bool {
    match text.as_bytes() {
        [b'=' | b'~' | b'>', ..] => true,
        [b'-' | b'+', b' ', ..] => true,
        [b'#', ..] => text.trim_start_matches('#').starts_with(' '),
        _ => false,
    }
}

/// Where the dot stands of a number that would begin an item of a list.
fn number_dot(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && text[digits..].starts_with(". ")).then_some(digits)
}

/// Whether what comes after a `<` would make a tag of it.
fn begins_tag(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?'))
}
