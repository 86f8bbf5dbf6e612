//! Extracts content words from Chinese text, without question words and particles.
//!
//! There is no dictionary. The text between two function words is one term, which may be a phrase. The index compares
//! character bigrams, so a phrase matches as well as its words.

use super::terms::between;

/// Question words and function words, longest first among those with a common prefix. Characters that are as often part
/// of a word (在, 和, 有) are listed only together with the context that makes them function words.
const FUNCTION_WORDS: &[&str] = &[
    "是什么时候",
    "是什麼時候",
    "在什么时候",
    "在什麼時候",
    "什么时候",
    "什麼時候",
    "为什么",
    "為什麼",
    "是什么",
    "是什麼",
    "有什么",
    "有什麼",
    "什么",
    "什麼",
    "在哪里",
    "在哪裡",
    "在哪儿",
    "在哪兒",
    "哪里",
    "哪裡",
    "哪儿",
    "哪兒",
    "哪一年",
    "哪年",
    "哪一个",
    "哪一個",
    "哪个",
    "哪個",
    "有哪些",
    "哪些",
    "哪",
    "是谁",
    "是誰",
    "由谁",
    "由誰",
    "被谁",
    "被誰",
    "谁",
    "誰",
    "於何年",
    "于何年",
    "在何年",
    "何年",
    "用何種",
    "用何种",
    "何種",
    "何种",
    "何人",
    "何地",
    "何物",
    "为何",
    "為何",
    "何时",
    "何時",
    "何处",
    "何處",
    "有多少",
    "是多少",
    "多少",
    "有多大",
    "多大",
    "有多高",
    "多高",
    "有多长",
    "有多長",
    "多长",
    "多長",
    "多久",
    "有几个",
    "有幾個",
    "几个",
    "幾個",
    "怎么样",
    "怎麼樣",
    "怎么",
    "怎麼",
    "怎样",
    "怎樣",
    "如何",
    "请问",
    "請問",
    "请",
    "請",
    "是否",
    "有没有",
    "有沒有",
    "是不是",
    "关于",
    "關於",
    "以及",
    "吗",
    "嗎",
    "呢",
    "了吗",
    "的",
    "是",
];
/// Parts without a meaning of their own.
const EMPTY: &[&str] = &[
    "了", "在", "和", "与", "與", "有", "被", "由", "于", "於", "中", "个", "個", "这", "這", "那", "它", "他", "她",
    "最", "几", "幾", "吧", "啊",
];

/// The content words or phrases of `run`.
pub(super) fn content(run: &str) -> Vec<&str> {
    let ended = between(run, FUNCTION_WORDS)
        .into_iter()
        .map(|part| part.trim_matches(['·', '・']).trim_end_matches('了'));
    ended.filter(|part| !part.is_empty() && !EMPTY.contains(part)).collect()
}

/// Characters at which a long phrase may be split if the whole phrase found nothing. Each may be part of a word, so a
/// split can be wrong, but it still gives another query.
const SPLIT_CHARACTERS: &[char] = &[
    '在', '於', '于', '與', '与', '和', '及', '或', '被', '由', '從', '从', '對', '对', '為', '为', '時', '时', '將',
    '将', '會', '会', '用', '以', '所', '了', '之', '有', '把', '使', '讓', '让', '向',
];
/// Minimum length of a phrase to split, in characters.
const MIN_SPLIT_LENGTH: usize = 6;

/// The parts of a long phrase between [`SPLIT_CHARACTERS`], or its halves if it has none; empty for a short phrase.
pub(super) fn split_phrase(phrase: &str) -> Vec<&str> {
    let chars = phrase.chars().count();
    if chars < MIN_SPLIT_LENGTH {
        return Vec::new();
    }
    let parts: Vec<&str> = phrase
        .split(SPLIT_CHARACTERS)
        .filter(|part| part.chars().count() >= 2)
        .collect();
    if parts.len() > 1 {
        return parts;
    }
    let middle = phrase.char_indices().nth(chars / 2).map_or(phrase.len(), |(at, _)| at);
    vec![&phrase[..middle], &phrase[middle..]]
}

#[cfg(test)]
mod tests;
