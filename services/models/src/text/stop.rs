//! Words that say little: those that hold a sentence together, and the commonest of the others.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::script::Script;
use super::words::stem;

/// English function words.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "before",
    "being", "but", "by", "can", "could", "did", "do", "does", "doing", "don", "for", "from", "had", "has", "have",
    "having", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "many",
    "may", "me", "might", "much", "must", "my", "no", "nor", "not", "of", "on", "or", "our", "ours", "she", "should",
    "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this",
    "those", "through", "to", "too", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
];
/// Pairs of characters that ask or bind.
const STOP_PAIRS: &[&str] = &[
    "什么", "什麼", "是什", "么时", "麼時", "时候", "時候", "哪里", "哪裡", "哪个", "哪個", "哪一", "一个", "一個", "多少",
    "怎么", "怎麼", "么样", "麼樣", "为什", "為什", "如何", "是谁", "是誰", "的是", "何で", "何か", "誰が", "誰で", "무엇", "무엇인",
    "엇인", "인가", "가요", "나요", "까요", "니까", "습니", "입니", "인지", "어디", "언제", "누구", "누가", "어떻", "떻게", "하는", "있는", "에서",
    "으로", "이다", "한다", "되는", "했다", "었다", "는가", "는지", "의",
];

/// Common English words that are no function words.
const COMMON: &[&str] = &[
    "again", "age", "allow", "almost", "along", "although", "always", "american", "among", "amount", "another",
    "area", "around", "ask", "away", "back", "base", "became", "because", "become", "began", "begin", "best",
    "better", "between", "big", "body", "book", "both", "bring", "build", "business", "call", "came", "case", "cause",
    "center", "central", "century", "change", "child", "children", "city", "come", "common", "company", "complete",
    "consider", "contain", "continue", "country", "course", "create", "current", "day", "decade", "describe",
    "develop", "development", "difference", "different", "during", "each", "early", "effect", "end", "enough", "even",
    "event", "ever", "every", "example", "fact", "family", "feel", "few", "field", "figure", "find", "first", "five",
    "follow", "food", "force", "form", "former", "found", "four", "free", "full", "general", "get", "girl", "give",
    "given", "go", "good", "government", "great", "group", "grow", "half", "hand", "happen", "hard", "head", "help",
    "high", "history", "hold", "home", "house", "however", "human", "hundred", "idea", "important", "include",
    "increase", "information", "interest", "issue", "job", "keep", "kind", "know", "known", "land", "large", "last",
    "late", "later", "law", "lead", "learn", "least", "led", "left", "less", "level", "life", "light", "like", "line",
    "list", "little", "live", "local", "long", "look", "lose", "lot", "love", "made", "main", "major", "make", "man",
    "material", "mean", "meet", "member", "men", "method", "million", "mind", "money", "month", "more", "most",
    "mother", "move", "music", "name", "nation", "national", "near", "need", "never", "new", "next", "night", "north",
    "number", "occur", "offer", "often", "old", "once", "one", "only", "open", "order", "original", "other", "out",
    "over", "own", "page", "paper", "part", "particular", "party", "pass", "past", "pay", "people", "per", "percent",
    "perform", "period", "person", "place", "plan", "play", "point", "popular", "population", "possible", "power",
    "present", "president", "problem", "process", "produce", "product", "program", "project", "provide", "public",
    "put", "question", "range", "rate", "reach", "read", "real", "reason", "receive", "recent", "record", "refer",
    "region", "remain", "report", "require", "research", "result", "right", "rise", "role", "rule", "run", "same",
    "say", "school", "science", "second", "see", "seem", "seen", "set", "several", "show", "side", "similar", "since",
    "single", "site", "size", "small", "social", "something", "sometimes", "source", "south", "special", "stand",
    "start", "state", "step", "still", "stop", "story", "street", "strong", "student", "study", "support", "system",
    "table", "take", "talk", "teach", "team", "tell", "ten", "term", "test", "text", "thing", "think", "third",
    "thousand", "three", "time", "title", "today", "together", "took", "top", "total", "town", "travel", "try",
    "turn", "two", "type", "under", "unit", "university", "until", "up", "upon", "use", "used", "usual", "value",
    "view", "war", "watch", "water", "way", "week", "well", "went", "west", "white", "whole", "wide", "within",
    "without", "woman", "women", "word", "work", "world", "write", "written", "year", "yes", "yet", "young",
];

static STOP_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| with_stems(STOP));
static COMMON_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| with_stems(COMMON));

fn with_stems(words: &[&str]) -> HashSet<String> {
    words.iter().flat_map(|word| [(*word).to_owned(), stem(word)]).collect()
}

/// Whether a word, stemmed or not, is one of the commonest.
pub(super) fn is_common(word: &str) -> bool {
    COMMON_STEMS.contains(word)
}

/// Whether a word of [`super::words`] only holds a sentence together.
pub(super) fn is_stop(word: &str) -> bool {
    match word.chars().next().map(Script::of) {
        Some(Script::Alphabet) => STOP_STEMS.contains(word),
        Some(Script::Han | Script::Katakana | Script::Hiragana | Script::Hangul) => {
            word.chars().all(|c| Script::of(c) == Script::Hiragana)
                || word.contains(['吗', '嗎', '呢', '哪', '么', '麼'])
                || STOP_PAIRS.contains(&word)
        }
        _ => false,
    }
}
