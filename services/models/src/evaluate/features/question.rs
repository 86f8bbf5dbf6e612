//! What kind of thing a question asks for, and whether a text has such a thing that the question has not.

use super::overlap::Weighted;
use super::view::View;
use crate::text::Script;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluate) enum Kind {
    Who,
    When,
    HowMany,
    Where,
    Why,
    How,
    Other,
}

impl Kind {
    /// Phrases in the order in which they decide: "how many" before "how". English ones are matched as whole words.
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
                "what percent",
                "what percentage",
                "what number",
                "what fraction",
                "몇",
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

    fn of(question: &str) -> Self {
        let plain: String = question
            .to_lowercase()
            .chars()
            .map(|c| if c.is_alphanumeric() || c == '%' { c } else { ' ' })
            .collect();
        let padded = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
        let says = |phrase: &&str| {
            if phrase.is_ascii() {
                padded.contains(&format!(" {phrase} "))
            } else {
                padded.contains(*phrase)
            }
        };
        Self::PHRASES
            .iter()
            .find(|(_, phrases)| phrases.iter().any(says))
            .map_or(Self::Other, |(kind, _)| *kind)
    }
}

/// A question taken apart once.
#[derive(Clone, Debug)]
pub(in crate::evaluate) struct Question {
    pub(super) view: View,
    pub(super) kind: Kind,
    /// Its content words, weighted.
    pub(super) weighted: Weighted,
}

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "century",
    "centuries",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "spring",
    "summer",
    "autumn",
    "winter",
];

const COUNTS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "hundred",
    "thousand", "million", "billion", "half", "dozen", "twice", "double", "third", "quarter",
];

impl Question {
    pub(in crate::evaluate) fn new(text: &str) -> Self {
        let view = View::new(text);
        let kind = Kind::of(text);
        let weighted = Weighted::new(&view.content);
        Self { view, kind, weighted }
    }

    pub(in crate::evaluate) fn text(&self) -> &str {
        &self.view.text
    }

    pub(in crate::evaluate) fn view(&self) -> &View {
        &self.view
    }

    /// The places of at most `limit` sentences of `passage`, in order: those that have most of the question's words.
    pub(in crate::evaluate) fn closest(&self, passage: &View, limit: usize) -> Vec<usize> {
        let mut places: Vec<(usize, f64)> = passage
            .sets
            .iter()
            .map(|words| self.weighted.share(|word| words.contains(word)))
            .enumerate()
            .collect();
        places.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        places.truncate(limit);
        let mut places: Vec<usize> = places.into_iter().map(|(place, _)| place).collect();
        places.sort_unstable();
        places
    }

    /// 1 when `text` has something of the kind asked for that the question itself has not, 0 when it has none, ½ when
    /// the kind has no form of its own.
    pub(super) fn expects(&self, text: &str) -> f64 {
        let new = match self.kind {
            Kind::When => self.new_number(text, is_date) || self.new_word(text, MONTHS),
            Kind::HowMany => {
                self.new_number(text, |_, _| true)
                    || self.new_word(text, COUNTS)
                    || text.chars().any(|c| "一二三四五六七八九十百千万萬億亿两兩".contains(c))
            }
            Kind::Who | Kind::Where => self.new_name(text),
            Kind::Why => {
                let lower = text.to_lowercase();
                [
                    "because",
                    "due to",
                    "since ",
                    " to ",
                    "caus",
                    "reason",
                    "so that",
                    "때문",
                    "위해",
                    "위하여",
                    "ため",
                    "から",
                    "ので",
                    "因为",
                    "因為",
                    "由于",
                    "由於",
                    "为了",
                    "為了",
                ]
                .iter()
                .any(|word| lower.contains(word))
            }
            Kind::How | Kind::Other => return 0.5,
        };
        f64::from(u8::from(new))
    }

    fn new_number(&self, text: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let tail = &rest[start..];
            let end = tail
                .find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.')
                .unwrap_or(tail.len());
            let digits = tail[..end].trim_end_matches([',', '.']);
            let number = digits.replace(',', "");
            if fits(&number, tail[end..].trim_start()) && !self.view.numbers.contains(&number) {
                return true;
            }
            rest = &tail[end..];
        }
        false
    }

    fn new_word(&self, text: &str, words: &[&str]) -> bool {
        let lower = text.to_lowercase();
        lower
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| words.contains(&word) && !self.view.lower.contains(word))
    }

    fn new_name(&self, text: &str) -> bool {
        if text.chars().any(Script::is_cjk) {
            return crate::text::content_words(text)
                .iter()
                .any(|word| !self.view.all.contains(word));
        }
        crate::text::names(text)
            .iter()
            .any(|name| !self.view.lower.contains(name.as_str()))
    }
}

/// Whether a number reads like a year or a day.
fn is_date(number: &str, after: &str) -> bool {
    let year = number.len() == 4 && (number.starts_with('1') || number.starts_with("20"));
    let marked = [
        "年", "년", "月", "월", "日", "일", "世紀", "世纪", "세기", "bc", "BC", "AD", "s ",
    ]
    .iter()
    .any(|mark| after.starts_with(mark));
    let ordinal = ["st ", "nd ", "rd ", "th "].iter().any(|mark| after.starts_with(mark));
    year || marked || ordinal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_ask_for_something() {
        for (question, kind) in [
            ("Who wrote the book?", Kind::Who),
            ("In what year did it open?", Kind::When),
            ("how many people live there", Kind::HowMany),
            ("How does it work?", Kind::How),
            ("Where is the tower?", Kind::Where),
            ("Why is the sky blue?", Kind::Why),
            ("What is a boiler?", Kind::Other),
            ("탑은 언제 세워졌나요?", Kind::When),
            ("인구는 몇 명인가?", Kind::HowMany),
            ("誰が書いたか", Kind::Who),
            ("党員は何人か", Kind::HowMany),
            ("塔在哪里？", Kind::Where),
            ("為什麼天空是藍的?", Kind::Why),
            ("他出生於哪一年?", Kind::When),
            ("Whose somehow showed anywhere", Kind::Who),
            ("Nowhere and somehow", Kind::Other),
        ] {
            assert_eq!(Kind::of(question), kind, "{question}");
        }
    }

    #[test]
    fn a_text_has_the_kind_of_thing_or_not() {
        for (question, text, expected) in [
            ("When did the mill open in 1850 close?", "The mill of 1850 closed.", 0.0),
            ("When did the mill close?", "It closed in 1902.", 1.0),
            ("When did the mill close?", "It closed in May or June.", 1.0),
            ("How many mills are there?", "There are three mills.", 1.0),
            ("How many mills are there?", "There are mills.", 0.0),
            ("Who built the Rhine mill?", "The Rhine mill was built long ago.", 0.0),
            ("Who built the mill?", "It was built by Ada Miller.", 1.0),
            ("방앗간은 언제 닫았나요?", "방앗간은 1902년에 닫았다.", 1.0),
            ("水车何时关闭？", "水车关闭了。", 0.0),
            ("What is it?", "It is a mill.", 0.5),
        ] {
            assert_eq!(Question::new(question).expects(text), expected, "{question} / {text}");
        }
    }
}
