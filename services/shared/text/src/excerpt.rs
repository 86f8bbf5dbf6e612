//! The beginnings of texts.

use emend_core::printable;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The beginning of a text on one line, [`printable`], at most `most` columns of a terminal wide. Where there is more,
/// it ends in `…` after a whole word, or after a whole character where the first word is wider than that.
#[must_use]
pub fn excerpt(text: &str, most: usize) -> String {
    let line = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.width() <= most {
        return line;
    }
    let room = most.saturating_sub(1);
    let words = fitting(line.split_word_bounds(), room);
    let end = if words > 0 {
        words
    } else {
        fitting(line.graphemes(true), room)
    };
    format!("{}…", line[..end].trim_end())
}

/// A title or name on one line, [`printable`], at most `most` bytes long, cut after a whole character.
#[must_use]
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()));
        if line.len() > most {
            line.truncate(line.floor_char_boundary(most));
            break;
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Bytes of the first pieces that are together at most `room` columns wide.
fn fitting<'a>(pieces: impl Iterator<Item = &'a str>, room: usize) -> usize {
    let (mut width, mut end) = (0, 0);
    for piece in pieces {
        width += piece.width();
        if width > room {
            break;
        }
        end += piece.len();
    }
    end
}

#[cfg(test)]
mod tests;
