//! Rules over words: whether a question asks for facts, and whether an answer has said a sentence already.

use std::collections::HashSet;

/// Probability that a message asks for facts if it is neither small talk nor a task.
const ASKS: f64 = 0.9;
/// Probability that a message asks for facts if it is small talk or a task.
const CHATS: f64 = 0.05;

/// Messages that are small talk as a whole, ignoring case and punctuation.
const SMALL_TALK: &[&str] = &[
    "hello",
    "hi",
    "hey",
    "hi there",
    "hello there",
    "good morning",
    "good afternoon",
    "good evening",
    "good night",
    "how are you",
    "how are you doing",
    "thanks",
    "thanks a lot",
    "thank you",
    "thank you very much",
    "ok",
    "okay",
    "bye",
    "goodbye",
    "who are you",
    "what can you do",
    "안녕",
    "안녕하세요",
    "반갑습니다",
    "고마워",
    "고마워요",
    "고맙습니다",
    "감사합니다",
    "잘 지내세요",
    "안녕히 계세요",
    "너는 누구야",
    "누구세요",
    "こんにちは",
    "こんばんは",
    "おはよう",
    "おはようございます",
    "お元気ですか",
    "ありがとう",
    "ありがとうございます",
    "さようなら",
    "あなたは誰ですか",
    "你好",
    "您好",
    "早上好",
    "晚上好",
    "你好吗",
    "你好嗎",
    "谢谢",
    "謝謝",
    "谢谢你",
    "謝謝你",
    "再见",
    "再見",
    "你是谁",
    "你是誰",
    "hallo",
    "danke",
    "bonjour",
    "merci",
    "hola",
    "gracias",
];

/// Beginnings of messages that set a task for which no document helps, for example to translate
/// their own text.
const TASKS: &[&str] = &[
    "translate ",
    "rephrase ",
    "paraphrase ",
    "proofread ",
    "write a poem",
    "write me a poem",
    "write a song",
    "write a joke",
    "tell me a joke",
    "tell a joke",
];
/// Endings of such messages, in languages that put the verb last.
const TASKS_AT_THE_END: &[&str] = &[
    "번역해줘",
    "번역해 줘",
    "번역해 주세요",
    "번역해주세요",
    "시를 써줘",
    "시를 써 줘",
    "翻訳して",
    "翻訳してください",
    "詩を書いて",
];
/// Beginnings of such messages in Chinese.
const TASKS_IN_CHINESE: &[&str] = &[
    "翻译",
    "翻譯",
    "请翻译",
    "請翻譯",
    "写一首诗",
    "寫一首詩",
    "讲个笑话",
    "講個笑話",
];

/// The probability that a question asks for facts, 0–1. It is low for small talk and for tasks in
/// the lists above, and high for everything else: an unnecessary search costs less than an answer
/// without evidence.
pub(super) fn facts(question: &str) -> f64 {
    let plain: String = question
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = plain.strip_prefix("please ").unwrap_or(&plain);
    let task = TASKS.iter().chain(TASKS_IN_CHINESE).any(|task| plain.starts_with(task))
        || TASKS_AT_THE_END.iter().any(|task| plain.ends_with(task));
    if task || SMALL_TALK.contains(&plain) {
        CHATS
    } else {
        ASKS
    }
}

/// The share of the content words of a sentence that an answer must contain to have said it.
const SAID: f64 = 0.6;

/// The words of an answer. An answer in another language than a sentence counts as not having said
/// it.
pub(super) struct Said(HashSet<String>);

impl Said {
    pub(super) fn new(answer: &str) -> Self {
        Self(emend_text::words(answer).into_iter().collect())
    }

    pub(super) fn says(&self, sentence: &str) -> bool {
        let words: HashSet<String> = emend_text::content_words(sentence).into_iter().collect();
        let found = words.iter().filter(|word| self.0.contains(*word)).count();
        // A sentence without words has nothing to say.
        found as f64 >= SAID * words.len() as f64
    }
}

#[cfg(test)]
mod tests;
