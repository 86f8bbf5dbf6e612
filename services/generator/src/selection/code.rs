//! Blocks of code in a passage.

use std::ops::Range;

/// What a block of code begins and ends with.
pub(super) const FENCE: &str = "```";
/// What is looked at of a line on either side of a sentence, in bytes.
const MAX_LINE_BYTES: usize = 500;
/// Columns by which a block of code without fences is indented.
const INDENT: usize = 4;

/// What stands between the fences of each block of code, in order. A fence ends a block if it is as long as the one that
/// begins it; the last block may have no end.
pub(super) fn blocks(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut open, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_start();
        let length = line.len() - line.trim_start_matches('`').len();
        match open {
            None if length >= FENCE.len() => open = Some((at, length)),
            Some((begin, least)) if length >= least => {
                found.push(begin..start);
                open = None;
            }
            _ => {}
        }
    }
    found.extend(open.map(|(begin, _)| begin..text.len()));
    found
}

/// The block that a byte is in.
pub(super) fn block_of(blocks: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = blocks.get(blocks.partition_point(|block| block.end <= at));
    next.filter(|block| block.contains(&at))
}

/// The lines of a block that a range of it is part of; the range itself where they are long.
pub(super) fn whole_lines(text: &str, range: Range<usize>, block: &Range<usize>) -> Range<usize> {
    let first = text.ceil_char_boundary(block.start.max(range.start.saturating_sub(MAX_LINE_BYTES)));
    let last = text.floor_char_boundary(block.end.min(range.end.saturating_add(MAX_LINE_BYTES)));
    let before = text.get(first..range.start).unwrap_or_default();
    let after = text.get(range.end..last).unwrap_or_default();
    let start = before.rfind('\n').map(|end| first + end + 1);
    let start = start.or((first == block.start).then_some(first));
    let end = after.find('\n').map(|end| range.end + end);
    let end = end.or((last == block.end).then_some(last));
    let Some((start, end)) = start.zip(end) else {
        return range;
    };
    let lines = text.get(start..end).unwrap_or_default();
    let indent = indent(lines);
    start + indent..start + lines.trim_end().len().max(indent)
}

/// The lines of the block of code that a text begins with, without empty ones: between fences, or indented below a line that
/// is indented so far.
pub(super) fn leading_lines(text: &str, indented: usize) -> Vec<Range<usize>> {
    let first = text.len() - text.trim_start().len();
    let fenced = text.get(first..).is_some_and(|text| text.starts_with(FENCE));
    let block = match fenced {
        true => blocks(text).into_iter().next().unwrap_or_default(),
        false => 0..text.len(),
    };
    let (mut at, mut lines) = (block.start, Vec::new());
    for line in text.get(block).unwrap_or_default().split_inclusive('\n') {
        let (start, said) = (at + indent(line), line.trim());
        at += line.len();
        if said.is_empty() {
            continue;
        }
        if !fenced && (indent(line) < indented + INDENT || emend_text::is_list_entry(said)) {
            break;
        }
        lines.push(start..start + said.len());
    }
    lines
}

/// White space that a line begins with, in bytes.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Strips the fences of blocks of code from both ends of a range.
pub(super) fn without_fences(text: &str, mut range: Range<usize>) -> Range<usize> {
    let sentence = text.get(range.clone()).unwrap_or_default();
    let lines = || sentence.split_inclusive('\n');
    let is_fence = |line: &&str| line.trim_start().starts_with(FENCE);
    range.start += lines().take_while(is_fence).map(str::len).sum::<usize>();
    let after = lines()
        .rev()
        .take_while(|line| is_fence(line) || line.trim().is_empty());
    let end = range.end - after.map(str::len).sum::<usize>();
    let said = text.get(range.start..end.max(range.start)).unwrap_or_default();
    range.start..range.start + said.trim_end().len()
}
