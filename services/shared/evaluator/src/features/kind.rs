//! Classifies questions by the kind of answer they expect.

mod european;

use emend_text::{Language, Script};

/// The expected kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Who,
    When,
    HowMany,
    Where,
    Why,
    How,
    Other,
}

impl Kind {
    /// The English, Korean, Japanese and Chinese phrases of each kind. The first match decides: "how many" comes before
    /// "how". English phrases match whole words.
    const PHRASES: [(Self, &'static [&'static str]); 6] = [
        (
            Self::Who,
            &[
                "who",
                "whom",
                "whose",
                "which person",
                "누가",
                "누구",
                "誰",
                "だれ",
                "谁",
                "何人が",
                "哪位",
                "哪一位",
                "何という人",
            ],
        ),
        (
            Self::When,
            &[
                "when",
                "what year",
                "which year",
                "in what century",
                "what century",
                "which century",
                "what decade",
                "which decade",
                "what date",
                "what day",
                "what month",
                "what time",
                "언제",
                "몇 년",
                "몇년",
                "어느 해",
                "いつ",
                "何年",
                "何月",
                "何日",
                "何世紀",
                "哪一年",
                "哪年",
                "何时",
                "何時",
                "什么时候",
                "什麼時候",
                "几年",
                "幾年",
                "哪一天",
                "哪个世纪",
                "哪個世紀",
                "什么年代",
                "什麼年代",
                "哪个年代",
                "哪個年代",
                "哪一个年代",
                "哪一個年代",
                "什么时间",
                "什麼時間",
            ],
        ),
        (
            Self::HowMany,
            &[
                "how many",
                "how much",
                "how long",
                "how far",
                "how tall",
                "how large",
                "how big",
                "how old",
                "how high",
                "how deep",
                "how fast",
                "how often",
                "how soon",
                "how early",
                "how late",
                "how quickly",
                "how wide",
                "how heavy",
                "what percent",
                "what percentage",
                "what number",
                "what fraction",
                "몇",
                "며칠",
                "얼마",
                "いくつ",
                "いくら",
                "何人",
                "何個",
                "何回",
                "何%",
                "何メートル",
                "何歳",
                "何km",
                "何番",
                "何次",
                "何台",
                "何枚",
                "何種類",
                "何分",
                "何度",
                "どのくらい",
                "どれくらい",
                "多少",
                "几",
                "幾",
                "多长",
                "多長",
                "多大",
                "多高",
                "多远",
                "多遠",
            ],
        ),
        (
            Self::Where,
            &[
                "where",
                "what city",
                "which city",
                "what country",
                "which country",
                "what state",
                "which state",
                "what place",
                "which place",
                "what continent",
                "what region",
                "which region",
                "어디",
                "어느 나라",
                "어느 도시",
                "どこ",
                "何県",
                "何市",
                "どの国",
                "何国",
                "哪里",
                "哪裡",
                "哪裏",
                "哪儿",
                "何地",
                "何处",
                "何處",
                "哪個地",
                "哪个地",
                "什么地方",
                "什麼地方",
                "位于",
                "位於",
                "哪个国家",
                "哪個國家",
                "哪个城市",
                "哪個城市",
            ],
        ),
        (
            Self::Why,
            &[
                "why",
                "what caused",
                "for what reason",
                "왜",
                "이유",
                "なぜ",
                "どうして",
                "理由",
                "为什么",
                "為什麼",
                "为何",
                "為何",
                "原因",
            ],
        ),
        (
            Self::How,
            &[
                "how",
                "어떻게",
                "どのように",
                "どうやって",
                "如何",
                "怎样",
                "怎樣",
                "怎么",
                "怎麼",
            ],
        ),
    ];

    pub(super) fn of(question: &str) -> Self {
        let plain: String = question
            .to_lowercase()
            .chars()
            .map(|c| if c.is_alphanumeric() || c == '%' { c } else { ' ' })
            .collect();
        let padded = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Language::Other(code) = emend_text::language(question)
            && let Some(kind) = european::kind(code, &padded)
        {
            return kind;
        }
        if padded.contains("何人") && !is_japanese(&padded) {
            return Self::Who;
        }
        let says = |phrase: &&str| {
            if phrase.is_ascii() {
                padded.contains(&format!(" {phrase} "))
            } else {
                padded
                    .match_indices(*phrase)
                    .any(|(at, _)| is_question_word(phrase, &padded, at))
            }
        };
        Self::PHRASES
            .iter()
            .find(|(_, phrases)| phrases.iter().any(says))
            .map_or(Self::Other, |(kind, _)| *kind)
    }
}

/// Whether the phrase at byte `at` is a question word of its kind.
///
/// Some Chinese phrases mean something else in certain positions: 称为什么 asks for a name and not why, 为何 at the end
/// asks what, and 哪几 asks which ones.
fn is_question_word(phrase: &str, question: &str, at: usize) -> bool {
    let before = question[..at].chars().next_back();
    let named = before.is_some_and(|c| "称稱名命叫改译譯定视視成作".contains(c));
    match phrase {
        "为什么" | "為什麼" => !named,
        "为何" | "為何" => !named && !question[at + phrase.len()..].trim().is_empty(),
        "几" | "幾" => before != Some('哪'),
        _ => true,
    }
}

/// Whether a text is Japanese, which is rarely without hiragana.
pub(super) fn is_japanese(text: &str) -> bool {
    text.chars().any(|c| Script::of(c) == Script::Hiragana)
}

#[cfg(test)]
mod tests;
