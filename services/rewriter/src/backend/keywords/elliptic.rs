//! Detects elliptic questions: "Opening hours?", "Who is the author?", "언제 지어졌나요?", "いつ建てられましたか".
//!
//! Their subject is in the conversation, and they have no word that refers to it. Most follow-ups in Korean, Japanese
//! and Chinese are elliptic. A long question is never classified as elliptic.

use emend_text::{Language, words};

use super::korean;
use super::terms::{Kind, REQUESTS, Term, terms};

/// A question with this many terms is not elliptic.
const MIN_COMPLETE_TERMS: usize = 4;

/// English verbs. A question with none of them has no verb, or only a content word as its verb.
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "has", "have", "had", "can", "could", "will",
    "would", "shall", "should", "may", "might", "must", "isn't", "aren't", "wasn't", "don't", "doesn't", "didn't",
    "what's", "who's", "where's", "how's", "when's",
];
/// Question words that may be the subject of an English question, so that a verb follows.
const SUBJECTS: &[&str] = &["who", "what", "which", "whose"];

/// Relational nouns: properties or parts of something. In a question with "the" and without another term, they lack
/// their owner.
const ENGLISH_RELATIONAL: &[&str] = &[
    "address",
    "age",
    "area",
    "author",
    "builder",
    "capital",
    "cause",
    "colour",
    "color",
    "cost",
    "date",
    "depth",
    "designer",
    "director",
    "distance",
    "duration",
    "founder",
    "height",
    "inventor",
    "language",
    "length",
    "location",
    "manager",
    "name",
    "opening",
    "hours",
    "owner",
    "population",
    "price",
    "purpose",
    "reason",
    "result",
    "salary",
    "size",
    "speed",
    "temperature",
    "title",
    "weight",
    "width",
    "year",
];
const KOREAN_RELATIONAL: &[&str] = &[
    "높이",
    "길이",
    "크기",
    "무게",
    "깊이",
    "넓이",
    "면적",
    "인구",
    "수도",
    "저자",
    "작가",
    "감독",
    "주인",
    "소유자",
    "설계자",
    "창립자",
    "가격",
    "요금",
    "비용",
    "이름",
    "이유",
    "원인",
    "목적",
    "나이",
    "위치",
    "주소",
    "전화번호",
    "색깔",
    "언어",
    "기간",
    "날짜",
    "결과",
    "영업시간",
    "운영시간",
];
const JAPANESE_RELATIONAL: &[&str] = &[
    "高さ",
    "長さ",
    "大きさ",
    "重さ",
    "深さ",
    "広さ",
    "面積",
    "人口",
    "首都",
    "著者",
    "作者",
    "監督",
    "持ち主",
    "所有者",
    "設計者",
    "創設者",
    "値段",
    "価格",
    "料金",
    "費用",
    "名前",
    "理由",
    "原因",
    "目的",
    "年齢",
    "場所",
    "住所",
    "電話番号",
    "色",
    "言語",
    "期間",
    "日付",
    "結果",
    "営業時間",
];
const CHINESE_RELATIONAL: &[&str] = &[
    "高度",
    "长度",
    "長度",
    "大小",
    "重量",
    "深度",
    "面积",
    "面積",
    "人口",
    "首都",
    "作者",
    "导演",
    "導演",
    "主人",
    "设计者",
    "設計者",
    "创始人",
    "創始人",
    "价格",
    "價格",
    "费用",
    "費用",
    "名字",
    "名称",
    "名稱",
    "理由",
    "原因",
    "目的",
    "年龄",
    "年齡",
    "位置",
    "地址",
    "电话",
    "電話",
    "颜色",
    "顏色",
    "语言",
    "語言",
    "日期",
    "结果",
    "結果",
    "营业时间",
    "營業時間",
];

/// Japanese question words with their particles. They are removed to find the content of a question.
const JAPANESE_QUESTION_WORDS: &[&str] = &[
    "どのように",
    "どうやって",
    "どのくらい",
    "どれくらい",
    "何年に",
    "何人が",
    "誰が",
    "誰に",
    "誰の",
    "誰によって",
    "誰",
    "どこで",
    "どこに",
    "どこが",
    "どこから",
    "どこ",
    "いつから",
    "いつ",
    "なぜ",
    "どうして",
    "何が",
    "何を",
    "何で",
    "いくら",
    "いくつ",
];
/// Japanese particles of topic, subject and object.
const JAPANESE_PARTICLES: &[char] = &['は', 'が', 'の', 'を', 'も'];
/// Chinese question words at the start of a question, longest first among those with a common prefix.
const CHINESE_QUESTION_WORDS: &[&str] = &[
    "是什么时候",
    "是什麼時候",
    "什么时候",
    "什麼時候",
    "何时",
    "何時",
    "哪一年",
    "哪年",
    "在哪里",
    "在哪裡",
    "哪里",
    "哪裡",
    "在哪儿",
    "在哪兒",
    "为什么",
    "為什麼",
    "怎么",
    "怎麼",
    "如何",
    "多少",
    "多高",
    "多长",
    "多長",
    "多大",
    "多久",
    "由谁",
    "由誰",
    "被谁",
    "被誰",
    "是谁",
    "是誰",
    "谁",
    "誰",
];
/// Maximum length in characters of the rest of a Chinese question that is only a verb.
const MAX_CHINESE_VERB: usize = 3;

/// Whether `question`, in `language`, omits its subject.
pub(super) fn is_elliptic(question: &str, language: Language) -> bool {
    let terms = terms(question);
    if terms.len() >= MIN_COMPLETE_TERMS {
        return false;
    }
    match language {
        Language::En => english(question, &terms),
        Language::Ko => korean(question),
        Language::Ja => japanese(question, &terms),
        Language::Zh | Language::ZhHant => chinese(question, &terms),
        Language::Other(_) => false,
    }
}

fn english(question: &str, terms: &[Term]) -> bool {
    let lower = question.to_lowercase().replace('’', "'");
    let plain: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .collect();
    let Some(first) = plain.first() else { return false };
    if terms.iter().any(|term| term.kind != Kind::Word) {
        // A name alone repeats the last question for another name.
        return matches!(terms, [name] if words(&name.text).len() == words(question).len());
    }
    let has_verb = plain.iter().any(|word| VERBS.contains(word));
    let related = |term: &Term| ENGLISH_RELATIONAL.contains(&term.text.to_lowercase().as_str());
    if has_verb {
        return plain.contains(&"the") && !terms.is_empty() && terms.iter().all(related);
    }
    let asks_by_itself = SUBJECTS.contains(first) && terms.len() > 1;
    !asks_by_itself && !REQUESTS.contains(first)
}

fn korean(question: &str) -> bool {
    let words: Vec<&str> = question
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let said: Vec<(usize, &str)> = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, korean::content(word)?)))
        .collect();
    match said.as_slice() {
        [] => false,
        // A verb after a question word, without a subject.
        [(at, _)] if *at > 0 && at + 1 == words.len() => true,
        [(_, only)] if words.len() == 1 => !only.ends_with('란'),
        said => said.iter().all(|(_, word)| KOREAN_RELATIONAL.contains(word)),
    }
}

fn japanese(question: &str, terms: &[Term]) -> bool {
    let related = JAPANESE_RELATIONAL.iter().any(|noun| {
        question
            .strip_prefix(noun)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['は', 'が', 'を', '?', '？', '。']))
    });
    let rest = JAPANESE_QUESTION_WORDS
        .iter()
        .fold(question.to_owned(), |rest, asking| rest.replace(asking, ""));
    let asks = rest.len() < question.len();
    related || (asks && terms.len() <= 1 && !rest.contains(JAPANESE_PARTICLES) && !rest.contains("って"))
}

fn chinese(question: &str, terms: &[Term]) -> bool {
    let related = !terms.is_empty()
        && terms
            .iter()
            .all(|term| CHINESE_RELATIONAL.contains(&term.text.as_str()));
    let rest = CHINESE_QUESTION_WORDS
        .iter()
        .find_map(|asking| question.strip_prefix(asking));
    let rest = rest.map(|rest| rest.trim_end_matches(['?', '？', '。', '吗', '嗎', '呢', '的', '了', ' ']));
    related || rest.is_some_and(|rest| rest.chars().count() <= MAX_CHINESE_VERB)
}

#[cfg(test)]
mod tests;
