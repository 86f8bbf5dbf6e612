//! Strips particles and endings from Korean words.

/// Prefixes of question words and of requests for an answer.
const QUESTION_PREFIXES: &[&str] = &[
    "무엇",
    "뭐",
    "뭔",
    "뭡",
    "언제",
    "어디",
    "누구",
    "누가",
    "어떻",
    "어떤",
    "어느",
    "얼마",
    "무슨",
    "알려",
    "말해",
    "설명해",
    "있나",
    "있습",
    "있는",
    "있을",
    "인가",
    "입니",
    "주세요",
    "줘",
];
/// Function words.
const FUNCTION_WORDS: &[&str] = &[
    "왜",
    "몇",
    "수",
    "것",
    "것은",
    "것이",
    "그",
    "이",
    "저",
    "및",
    "또는",
    "그리고",
    "그럼",
    "그러면",
    "그런데",
    "대해",
    "대한",
    "대하여",
    "대해서",
    "관한",
    "관해",
    "관하여",
    "중",
    "중에",
    "중에서",
    "한",
    "된",
    "할",
    "될",
    "하는",
    "되는",
    "은",
    "는",
    "가",
    "을",
    "를",
    "의",
    "에",
    "에서",
    "로",
    "으로",
    "와",
    "과",
    "도",
    "만",
    "요",
    "까지",
    "부터",
    "에게",
    "라는",
    "이라는",
];
/// Verb and copula endings of questions, longest first.
const ENDINGS: &[&str] = &[
    "되었습니까",
    "하였습니까",
    "이었습니까",
    "되었나요",
    "하였나요",
    "이었나요",
    "했습니까",
    "됐습니까",
    "었습니까",
    "았습니까",
    "되었는가",
    "하였는가",
    "했는가",
    "됐는가",
    "하는가",
    "되는가",
    "었는가",
    "았는가",
    "는가",
    "되었는지",
    "했는지",
    "됐는지",
    "했나요",
    "됐나요",
    "되었나",
    "었나요",
    "았나요",
    "졌나요",
    "습니까",
    "입니까",
    "인가요",
    "합니까",
    "됩니까",
    "하나요",
    "되나요",
    "인가",
    "했나",
    "됐나",
    "나요",
    "까요",
    "하는",
    "되는",
    "했던",
    "되었던",
    "이라고",
    "라고",
];
/// Particles, longest first, with the required final sound of the syllable before them.
const PARTICLES: &[(&str, Before)] = &[
    ("에서는", Before::Any),
    ("에서의", Before::Any),
    ("으로는", Before::Consonant),
    ("에게서", Before::Any),
    ("이라는", Before::Consonant),
    ("에서", Before::Any),
    ("에게", Before::Any),
    ("으로", Before::Consonant),
    ("까지", Before::Any),
    ("부터", Before::Any),
    ("처럼", Before::Any),
    ("에는", Before::Any),
    ("에도", Before::Any),
    ("와의", Before::Vowel),
    ("과의", Before::Consonant),
    ("로는", Before::Vowel),
    ("은", Before::Consonant),
    ("는", Before::Vowel),
    ("이", Before::Consonant),
    ("가", Before::Vowel),
    ("을", Before::Consonant),
    ("를", Before::Vowel),
    ("의", Before::Any),
    ("에", Before::Any),
    ("로", Before::Vowel),
    ("와", Before::Vowel),
    ("과", Before::Consonant),
];

/// Maximum length of a counter in syllables, such as 킬로미터.
const MAX_UNIT: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Any,
    Consonant,
    Vowel,
}

/// The content part of `word`; `None` for a question word or function word.
pub(super) fn content(word: &str) -> Option<&str> {
    if FUNCTION_WORDS.contains(&word) || QUESTION_PREFIXES.iter().any(|asking| word.starts_with(asking)) {
        return None;
    }
    if let Some(stem) = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending)) {
        return (stem.chars().count() >= 2).then(|| bare(stem));
    }
    Some(bare(word))
}

/// The counter in a word that directly follows a number: 년 of 년에 in "2019년에". `None` for a particle alone or a
/// question word.
pub(super) fn unit(word: &str) -> Option<&str> {
    if PARTICLES.iter().any(|(particle, _)| *particle == word)
        || QUESTION_PREFIXES.iter().any(|asking| word.starts_with(asking))
    {
        return None;
    }
    let stripped = PARTICLES.iter().filter_map(|(particle, _)| word.strip_suffix(particle));
    let unit = stripped
        .filter(|stem| !stem.is_empty())
        .min_by_key(|stem| stem.len())
        .unwrap_or(word);
    (unit.chars().count() <= MAX_UNIT).then_some(unit)
}

/// Strips the particle from `word` if at least two syllables remain: 나이 and 국가 are words.
fn bare(word: &str) -> &str {
    let fits = |stem: &str, before: Before| {
        let last = stem
            .chars()
            .next_back()
            .map_or(0, |c| u32::from(c).wrapping_sub(0xac00));
        // Hangul syllables have 28 code points per vowel, ordered by final consonant. The first has none.
        let open = last.is_multiple_of(28);
        stem.chars().count() >= 2 && (before == Before::Any || open == (before == Before::Vowel))
    };
    PARTICLES
        .iter()
        .find_map(|(particle, before)| word.strip_suffix(particle).filter(|stem| fits(stem, *before)))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests;
