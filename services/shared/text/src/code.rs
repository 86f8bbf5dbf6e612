//! Blocks of code between fences.

use std::ops::Range;

/// What a block of code begins and ends with.
const FENCE: &str = "```";

/// A block of code between fences, as byte ranges of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// From its first fence to the end of its last one.
    pub range: Range<usize>,
    /// What stands between the fences, with its last line break.
    pub lines: Range<usize>,
}

/// The blocks of code of `text`, in order.
///
/// A fence ends a block if it is at least as long as the one that begins it; a block without an end reaches to the end of
/// the text.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut found = Vec::new();
    let mut open: Option<(CodeBlock, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let marks = line.trim_start();
        let length = marks.len() - marks.trim_start_matches('`').len();
        if length < FENCE.len() {
            continue;
        }
        open = match open {
            Some((block, least)) if length >= least => {
                found.push(CodeBlock {
                    range: block.range.start..start + line.trim_end().len(),
                    lines: block.lines.start..start,
                });
                None
            }
            Some(unended) => Some(unended),
            None => {
                let block = CodeBlock {
                    range: start + line.len() - marks.len()..text.len(),
                    lines: at..text.len(),
                };
                Some((block, length))
            }
        };
    }
    found.extend(open.map(|(block, _)| block));
    found
}

#[cfg(test)]
mod tests;
