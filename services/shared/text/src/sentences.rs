//! Rule-based sentence boundary detection for prose and Markdown.

mod abbreviations;

use std::collections::HashMap;
use std::ops::Range;

use super::script::Script;
use crate::code::code_blocks;
use crate::ends::{is_closing_mark, is_sentence_end};
use abbreviations::is_abbreviation;

/// The columns between tab stops.
const TAB: usize = 8;
/// Maximum length of a term on a line of its own.
const MAX_TERM_BYTES: usize = 60;
/// Maximum length of a line of code in the middle of a sentence.
const MAX_CODE_BYTES: usize = 160;
/// Minimum length of the paragraph that such a sentence begins in: shorter ones are terms and entries of lists.
const MIN_PROSE_BYTES: usize = 20;
const CLOSING_BRACKETS: [char; 2] = [')', '）'];
/// Characters of code that prose hardly has.
const CODE_MARKS: [char; 11] = ['/', '\\', '=', '<', '>', '{', '}', '$', '_', '|', ';'];

/// Splits `text` into sentences, as byte ranges.
///
/// The ranges are in order, disjoint and trimmed, and together cover every character that is not white space. A heading
/// or a list item is a sentence of its own, and an option of a command or a term one with what stands below it. A sentence
/// goes on behind a line of code that stands between empty lines. The fences of a block of code are part of its first and
/// last sentence.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let blocks = blocks(text);
    // How many sentences come before the block before this one.
    let mut before_last = 0_usize;
    for (index, block) in blocks.iter().enumerate() {
        let mut pieces = split(text, block.clone());
        merge_short(text, &mut pieces);
        if let Some([before, between]) = index.checked_sub(2).and_then(|first| blocks.get(first..index))
            && is_interrupted(text, before, between, block)
            && let Some(interrupted) = before_last.checked_sub(1)
            && let Some(first) = pieces.first_mut()
        {
            found.truncate(before_last);
            match after_bracket(text, first) {
                Some((bracket, rest)) => {
                    found[interrupted].end = bracket;
                    *first = rest;
                }
                None => found[interrupted].end = pieces.remove(0).end,
            }
        }
        before_last = found.len();
        found.extend(pieces);
    }
    merge_marks(text, &mut found);
    found
}

/// The blocks of `text`: runs of lines that form one paragraph, heading or list item.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    let mut previous: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.trim().is_empty() {
            previous = None;
            continue;
        }
        let is_more = previous.is_some_and(|before| continues(before.trim(), line.trim()) || describes(before, line));
        match (is_more, found.last_mut()) {
            (true, Some(block)) => block.end = at,
            _ => found.push(start..at),
        }
        previous = Some(line);
    }
    found
}

/// Whether `line` continues the paragraph of the line `before` it, because the text is hard-wrapped.
fn continues(before: &str, line: &str) -> bool {
    if line.starts_with(": ") {
        // The definition of the term in the line before.
        return !before.starts_with(['#', '|']);
    }
    let is_block = ["#", "|", "```"].iter().any(|mark| before.starts_with(mark)) || is_link_definition(before);
    if is_block || before.ends_with("  ") || (is_marked(line) && !(is_option(line) && opens_quote(before))) {
        return false;
    }
    let ended = before.trim_end_matches(is_closing_mark).ends_with(is_sentence_end) || before.ends_with([':', '：']);
    let lower = line.chars().next().is_some_and(char::is_lowercase) && !is_setting(line);
    let width = before
        .chars()
        .map(|c| if Script::is_cjk(c) { 2 } else { 1 })
        .sum::<usize>();
    if is_header(line) {
        // In the middle of a sentence a word before a colon may come first in its line.
        return width >= 60 && !ended && !is_header(before);
    }
    lower || (width >= 50 && !ended) || (width >= 60 && before.ends_with('.'))
}

/// Of a piece that begins with a closing bracket where the bracket ends, and the sentence that begins behind it, if one does.
fn after_bracket(text: &str, piece: &Range<usize>) -> Option<(usize, Range<usize>)> {
    let rest = text[piece.clone()].strip_prefix(CLOSING_BRACKETS)?;
    let sentence = rest.trim_start();
    let is_sentence = sentence.starts_with(char::is_uppercase);
    is_sentence.then(|| (piece.end - rest.len(), piece.end - sentence.len()..piece.end))
}

/// Whether the last quote or piece of code that `line` opens is still open at its end.
fn opens_quote(line: &str) -> bool {
    let after = |open: char| line.rsplit_once(open).map(|(_, after)| after);
    after('`').is_some_and(|after| !after.contains('\'') && line.matches('`').count() % 2 == 1)
        || after('“').is_some_and(|after| !after.contains('”'))
        || after('‘').is_some_and(|after| !after.contains('’'))
}

/// Whether a sentence that began in the paragraph `before` goes on in the paragraph `after`: a line of code stands `between`.
fn is_interrupted(text: &str, before: &Range<usize>, between: &Range<usize>, after: &Range<usize>) -> bool {
    if before.end == between.start || between.end == after.start {
        // No empty line.
        return false;
    }
    let [before, code, after] = [before, between, after].map(|block| &text[block.clone()]);
    let is_text =
        |line: &str| !["#", "|", "```"].iter().any(|mark| line.starts_with(mark)) && !is_link_definition(line);
    let is_prose = |block: &str, bytes: usize| {
        let block = block.trim();
        block.len() >= bytes && block.contains(char::is_whitespace) && is_text(block)
    };
    let is_code =
        indent(code) > indent(before) || code.contains(CODE_MARKS) || code.contains(|c: char| c.is_ascii_digit());
    let is_line = code.len() <= MAX_CODE_BYTES && !code.trim().contains('\n') && !is_list_entry(code.trim());
    if !(is_code && is_line && is_text(code.trim()) && is_prose(before, MIN_PROSE_BYTES) && is_prose(after, 2)) {
        return false;
    }
    let (before, after) = (before.trim(), after.trim());
    let line = after.lines().next().unwrap_or_default();
    let goes_on = line.starts_with(char::is_lowercase) && !is_marked(line) && !is_setting(line);
    line.starts_with(CLOSING_BRACKETS) || (goes_on && !before.ends_with(is_sentence_end))
}

/// Whether `line` says what the option or the term in the line `before` it is, as manual pages have it: below, and indented
/// further.
fn describes(before: &str, line: &str) -> bool {
    let is_described = is_option(before.trim()) || (indent(before) > 0 && is_term(before.trim()));
    is_described && indent(line) > indent(before) && !is_marked(line.trim())
}

/// The column at which the text of `line` begins, with tab stops at every eighth one.
fn indent(line: &str) -> usize {
    line.chars()
        .take_while(|c| c.is_whitespace())
        .fold(0, |column, c| match c {
            '\t' => column / TAB * TAB + TAB,
            '\u{3000}' => column + 2,
            _ => column + 1,
        })
}

/// Whether `line` is nothing but the name of something, maybe with its kind in brackets: `/etc/shells`, `5`, `UMASK (number)`.
fn is_term(line: &str) -> bool {
    let name = match line.split_once(" (") {
        Some((name, kind)) if kind.ends_with(')') => name,
        _ => line,
    };
    let ends = |c: char| c.is_alphanumeric() || matches!(c, '~' | '/' | '*' | '>' | '+' | '\'' | '"');
    name.len() <= MAX_TERM_BYTES
        && !name.contains(char::is_whitespace)
        && name.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '$' | '.' | '_' | '%'))
        && name.ends_with(ends)
        && !is_marked(line)
}

/// Whether `line` starts a heading, list item, block quote, table row, code fence or rule, a header field, the description of
/// an option, the definition of a link, or an entry of a log.
#[must_use]
pub fn starts_block(line: &str) -> bool {
    is_marked(line) || is_header(line)
}

/// Whether the beginning of `line` alone says that it starts a block.
fn is_marked(line: &str) -> bool {
    let marked = ["> ", "|", "#", "```", "---"].iter().any(|mark| line.starts_with(mark));
    marked || is_list_entry(line) || is_option(line) || is_log_entry(line) || is_link_definition(line)
}

/// Whether `line` is the definition of a link: `[port]: https://docs.example/port "The port"`.
#[must_use]
pub fn is_link_definition(line: &str) -> bool {
    let target = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    target.is_some_and(|(_, target)| {
        let (address, title) = target.split_once(' ').unwrap_or((target, ""));
        let is_address = title.is_empty() || address.contains(['/', '#', '.']);
        is_address && (title.is_empty() || title.trim_start().starts_with(['"', '\'', '(']))
    })
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

/// Whether `line` is a field such as `Subject: Minutes` or `Reply-To: all`.
fn is_header(line: &str) -> bool {
    let name = first_word(line).strip_suffix(':').unwrap_or_default();
    name.starts_with(char::is_uppercase) && name.chars().all(|c| c.is_alphanumeric() || c == '-')
}

/// Whether `line` describes an option of a command: `-u, --user`.
fn is_option(line: &str) -> bool {
    let name = line.trim_start_matches('-');
    (1..=2).contains(&(line.len() - name.len())) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether `line` starts with a date or a time: `2026-04-18T06:30:24Z`, `[06:30:24]`.
fn is_log_entry(line: &str) -> bool {
    let word = first_word(line).trim_start_matches('[');
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= 4 && word.starts_with(|c: char| c.is_ascii_digit()) && word.contains([':', '-'])
}

/// Whether `line` sets a value, as `retries: 3`, `retries = 3` and `"retries": 3` do.
fn is_setting(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let is_name = |name: &str| {
        let name = name.trim_matches(['"', '\'']);
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    match name.strip_suffix(':') {
        Some(name) => is_name(name),
        None => is_name(name) && words.next() == Some("="),
    }
}

/// Whether a sentence is an entry of a list: it starts with a bullet or a number.
#[must_use]
pub fn is_list_entry(sentence: &str) -> bool {
    let bullets = ["- ", "* ", "+ ", "• ", "・"];
    bullets.iter().any(|bullet| sentence.starts_with(bullet)) || list_number(sentence).is_some()
}

/// The length in bytes of a list number such as `12.` or `3)` at the start of a line, if a space follows.
fn list_number(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..)?;
    let marked = (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    marked.then_some(digits + 1)
}

/// The sentences of one block, trimmed.
fn split(text: &str, block: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let body = &text[block.clone()];
    let indent = body.len() - body.trim_start().len();
    let mut start = 0;
    let mut skip = indent + list_number(&body[indent..]).unwrap_or(0);
    let mut code = code_spans(body).into_iter().peekable();
    while let Some(offset) = body[skip..].find(is_sentence_end) {
        let at = skip + offset;
        while code.next_if(|span| span.end <= at).is_some() {}
        if let Some(span) = code.next_if(|span| span.contains(&at)) {
            skip = span.end;
            continue;
        }
        let run = body[at..].find(|c| !is_sentence_end(c)).map_or(body.len(), |n| at + n);
        let mut end = body[run..]
            .find(|c| !is_closing_mark(c))
            .map_or(body.len(), |n| run + n);
        if body[at..run].chars().all(|c| c == '.') && ends_with_opener(body, run, end) {
            end = run;
        }
        if is_boundary(body, at, run, end) {
            push(&mut found, text, block.start + start..block.start + end);
            start = end;
        }
        skip = end.max(run);
    }
    push(&mut found, text, block.start + start..block.end);
    found
}

/// The spans of inline code of a block, each from a run of backticks to the next one that is as long.
fn code_spans(body: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in body.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    let mut later = HashMap::new();
    let mut closing: Vec<Option<usize>> = runs
        .iter()
        .enumerate()
        .rev()
        .map(|(index, run)| later.insert(run.len(), index))
        .collect();
    closing.reverse();
    let (mut spans, mut index) = (Vec::new(), 0);
    while let Some(closing) = closing.get(index) {
        if let Some(closing) = closing {
            spans.push(runs[index].start..runs[*closing].end);
        }
        index = closing.unwrap_or(index) + 1;
    }
    spans
}

/// Whether the quote after a full stop opens the next sentence, as in `it ended. "Then`.
///
/// No white space precedes the quote here, so it is an opening one only right before a letter or digit.
fn ends_with_opener(body: &str, run: usize, end: usize) -> bool {
    end > run && body[end..].starts_with(char::is_alphanumeric) && !body[end..].starts_with(Script::is_cjk)
}

fn push(found: &mut Vec<Range<usize>>, text: &str, range: Range<usize>) {
    let piece = &text[range.clone()];
    let trimmed = piece.trim();
    if !trimmed.is_empty() {
        let start = range.start + (piece.len() - piece.trim_start().len());
        found.push(start..start + trimmed.len());
    }
}

/// Whether a sentence ends after the terminators at `at..run` and the closing marks up to `end`.
fn is_boundary(body: &str, at: usize, run: usize, end: usize) -> bool {
    let rest = &body[end..];
    let Some(next) = rest.chars().next() else { return true };
    let following = rest.trim_start();
    let first = following.chars().next().unwrap_or(' ');
    let wide = body[at..run]
        .chars()
        .any(|c| matches!(c, '。' | '！' | '？' | '｡' | '．'));
    let closed = end > run;
    if wide || (Script::is_cjk(next) && body[..at].ends_with(Script::is_cjk)) {
        let quoted_on = closed
            && [
                "と",
                "って",
                "という",
                "라고",
                "이라고",
                "라는",
                "하고",
                "、",
                "，",
                ",",
            ]
            .iter()
            .any(|w| following.starts_with(w));
        return !quoted_on;
    }
    if !next.is_whitespace() || first.is_lowercase() || matches!(first, ',' | ';' | ':' | '、' | '，') {
        return false;
    }
    let full_stop = &body[at..run] == ".";
    !(full_stop && is_abbreviation(&body[..at], following))
}

/// The number of letters and digits; a Chinese, Japanese or Korean character counts as two.
fn weight(piece: &str) -> usize {
    piece
        .chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| if Script::is_cjk(c) { 2 } else { 1 })
        .sum()
}

/// Merges pieces shorter than four letters ("No.", "1.") into the next piece of the block, and the last one into the
/// previous piece.
fn merge_short(text: &str, pieces: &mut Vec<Range<usize>>) {
    const SHORT: usize = 4;
    merge(text, pieces, |last, piece| {
        last.weight < SHORT || (piece.is_last && piece.weight < SHORT)
    });
}

/// Merges pieces without a letter or digit (such as rules) into the previous piece, or into the next one at the start,
/// and the fence that begins a block of code into the next one.
fn merge_marks(text: &str, pieces: &mut Vec<Range<usize>>) {
    let code = code_blocks(text);
    let block = |piece: &Range<usize>| {
        let index = code.binary_search_by_key(&piece.start, |block| block.range.start);
        code.get(index.ok()?)
    };
    merge(text, pieces, |last, piece| {
        let is_fence = block(last.range).is_some_and(|block| last.range.end <= block.lines.start);
        let begins_code = block(piece.range).is_some() && !piece.is_last;
        is_fence || last.weight == 0 || (piece.weight == 0 && !begins_code)
    });
}

struct Piece<'a> {
    is_last: bool,
    range: &'a Range<usize>,
    weight: usize,
}

/// Merges each piece into the one before it where `joins` says so of the two.
fn merge(text: &str, pieces: &mut Vec<Range<usize>>, joins: impl Fn(Piece<'_>, Piece<'_>) -> bool) {
    let mut merged: Vec<(Range<usize>, usize)> = Vec::with_capacity(pieces.len());
    let mut rest = pieces.drain(..).peekable();
    while let Some(range) = rest.next() {
        let weight = weight(text.get(range.clone()).unwrap_or_default());
        let is_last = rest.peek().is_none();
        let piece = |is_last, range, weight| Piece { is_last, range, weight };
        match merged.last_mut() {
            // Its weight is kept: weighing it again for each piece would take the square of the time.
            Some((last, sum)) if joins(piece(false, last, *sum), piece(is_last, &range, weight)) => {
                last.end = range.end;
                *sum += weight;
            }
            _ => merged.push((range, weight)),
        }
    }
    drop(rest);
    pieces.extend(merged.into_iter().map(|(range, _)| range));
}

#[cfg(test)]
mod tests;
