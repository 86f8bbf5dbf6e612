//! Blocks of code in a passage.

use std::ops::Range;

use emend_text::{CodeBlock, code_blocks};

/// What is looked at of a line on either side of a sentence, in bytes.
const MAX_LINE_BYTES: usize = 500;
/// A block of at most so many lines and bytes is quoted whole: part of a program or of several commands helps nobody.
const MAX_WHOLE_LINES: usize = 15;
const MAX_WHOLE_BYTES: usize = 800;
/// Columns by which a block of code without fences is indented.
const INDENT: usize = 4;

/// The block that a range is part of, and what of the range is between its fences.
pub(super) fn in_block<'a>(blocks: &'a [CodeBlock], range: &Range<usize>) -> Option<(&'a CodeBlock, Range<usize>)> {
    let block = blocks.get(blocks.partition_point(|block| block.lines.end <= range.start))?;
    let inside = range.start.max(block.lines.start)..range.end.min(block.lines.end);
    (block.range.start <= range.start && inside.start < inside.end).then_some((block, inside))
}

/// A short block, or the lines of a longer one that a range between its fences is part of; the range itself where they are
/// long.
pub(super) fn whole_lines(text: &str, range: Range<usize>, block: &CodeBlock) -> Range<usize> {
    let block = &block.lines;
    let whole = text.get(block.clone()).unwrap_or_default();
    let is_short = whole.len() <= MAX_WHOLE_BYTES && whole.trim().lines().count() <= MAX_WHOLE_LINES;
    if is_short && !whole.contains("```") {
        let start = block.start + indent(whole);
        return start..start + whole.trim().len();
    }
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
    let block = code_blocks(text).into_iter().next();
    let fenced = block.filter(|block| block.range.start == first);
    let is_fenced = fenced.is_some();
    let block = fenced.map_or(0..text.len(), |block| block.lines);
    let (mut at, mut lines) = (block.start, Vec::new());
    for line in text.get(block).unwrap_or_default().split_inclusive('\n') {
        let (start, said) = (at + indent(line), line.trim());
        at += line.len();
        if said.is_empty() {
            continue;
        }
        if !is_fenced && (indent(line) < indented + INDENT || emend_text::is_list_entry(said)) {
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
