//! Detects place names in Chinese, Japanese and Korean text.
//!
//! These scripts write a place name like any other noun. It is recognized by the word before it, the particle after it,
//! or the noun it ends with.

use emend_text::Script;

/// Chinese prepositions before a place.
const BEFORE: &[char] = &['在', '于', '於', '到', '至', '往', '赴'];
/// Japanese particles after a place.
const AFTER_JAPANESE: &[&str] = &["に", "で", "へ", "から"];
/// Korean particles after a place, the longest first.
const AFTER_KOREAN: &[&str] = &["에서는", "에서", "에는", "에", "으로"];
/// Last characters of place names.
const KINDS: &str =
    "国國省市县縣州区區镇鎮鄉乡村岛島洲街路港湾灣山河江湖海郡府町谷城駅站楼樓层層階寺廟庙宮宫館馆堂園园";
/// Last characters of time expressions, or first ones in Chinese.
const TIMES: &str = "年月日時时候代頃後后前間间中期初末際际紀纪次同當当년월일시때전후간말초";

/// Whether `text` names a place that is not in `question`.
pub(super) fn names_place(text: &str, question: &str) -> bool {
    let is_new = |noun: &str| !noun.is_empty() && !question.contains(noun);
    text.split(|c: char| !c.is_alphanumeric()).any(|run| {
        if run.chars().any(|c| Script::of(c) == Script::Hangul) {
            return particle(run, AFTER_KOREAN).is_some_and(|noun| is_new(noun) && !ends_as_time(noun));
        }
        nouns(run).any(|(noun, rest)| {
            let at = AFTER_JAPANESE.iter().any(|after| rest.starts_with(after));
            (at && is_new(last(noun, 2)) && !ends_as_time(noun))
                || after_preposition(noun).is_some_and(is_new)
                || has_place_suffix(noun, is_new)
        })
    })
}

/// Strips a particle from the end of a word; `None` if it has none.
fn particle<'t>(word: &'t str, particles: &[&str]) -> Option<&'t str> {
    particles.iter().find_map(|particle| word.strip_suffix(particle))
}

fn ends_as_time(noun: &str) -> bool {
    noun.chars()
        .next_back()
        .is_some_and(|c| TIMES.contains(c) || c.is_ascii_digit())
}

/// The runs without hiragana, each with the rest of the text after it.
fn nouns(run: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = run;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| Script::of(c) == Script::Hiragana);
        let end = rest.find(|c| Script::of(c) == Script::Hiragana).unwrap_or(rest.len());
        let (noun, after) = rest.split_at(end);
        rest = after;
        (!noun.is_empty()).then_some((noun, after))
    })
}

fn last(noun: &str, characters: usize) -> &str {
    let start = noun.char_indices().rev().nth(characters - 1).map_or(0, |(at, _)| at);
    &noun[start..]
}

/// The first two characters after a preposition of place, unless they start a time expression.
fn after_preposition(noun: &str) -> Option<&str> {
    noun.match_indices(BEFORE).find_map(|(at, word)| {
        let rest = &noun[at + word.len()..];
        let first = rest.chars().next()?;
        let end = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
        (!first.is_ascii_digit() && !TIMES.contains(first)).then_some(&rest[..end])
    })
}

/// Whether `noun` contains a new place name: a character of [`KINDS`] with the one before it.
fn has_place_suffix(noun: &str, is_new: impl Fn(&str) -> bool) -> bool {
    noun.char_indices()
        .zip(noun.char_indices().skip(1))
        .any(|((before, _), (at, kind))| KINDS.contains(kind) && is_new(&noun[before..at + kind.len_utf8()]))
}

#[cfg(test)]
mod tests;
