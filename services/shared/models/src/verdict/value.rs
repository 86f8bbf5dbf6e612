//! Strips reasoning, Markdown, JSON and labels from a reply, down to the word of the verdict.

pub(super) use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// Most places of a reply at which JSON may begin that are tried. A reply that opens thousands of brackets and closes none is no
/// JSON, and each place may take a parser through all brackets that it allows in each other.
pub(super) const MAX_STARTS: usize = 256;

/// Removes the reasoning before `</think>` and the lines of code fences.
pub(super) fn strip_reasoning(text: &str) -> String {
    let after = text.rfind("</think>").map_or(text, |at| &text[at + "</think>".len()..]);
    let lines = after.lines().filter(|line| !line.trim_start().starts_with("```"));
    let reply = lines.collect::<Vec<_>>().join("\n");
    // The verdict may be on the line of the fence itself: "```no".
    if !reply.contains(char::is_alphanumeric) {
        after.replace('`', "")
    } else {
        reply.trim().to_owned()
    }
}

/// Normalises to NFKC and lower case, without Markdown emphasis and quotes.
pub(super) fn normalise(text: &str) -> String {
    let is_said = |c: &char| !matches!(c, '*' | '#' | '`' | '"' | '\'' | '“' | '”' | '‘' | '’');
    // ASCII is its own NFKC, and each alternative of each token of a reply comes by here.
    let lower = if text.is_ascii() {
        text.chars().filter(is_said).map(|c| c.to_ascii_lowercase()).collect()
    } else {
        text.nfkc().filter(is_said).collect::<String>().to_lowercase()
    };
    lower.trim().to_owned()
}

/// The reply as a JSON value other than a number or null, or else the first JSON object in it that is not empty and begins at
/// one of the first [`MAX_STARTS`] places.
pub(super) fn json(reply: &str) -> Option<Value> {
    if let Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_) | Value::Bool(_))) =
        serde_json::from_str(reply)
    {
        return Some(value);
    }
    reply.match_indices('{').take(MAX_STARTS).find_map(|(at, _)| {
        let first = serde_json::Deserializer::from_str(&reply[at..])
            .into_iter::<Value>()
            .next()?
            .ok()?;
        matches!(&first, Value::Object(map) if !map.is_empty()).then_some(first)
    })
}

/// JSON keys of the verdict, in order of preference.
const KEYS: &[&str] = &[
    "binary_score",
    "score",
    "verdict",
    "grade",
    "relevant",
    "relevance",
    "supported",
    "support",
    "grounded",
    "groundedness",
    "useful",
    "usefulness",
    "utility",
    "rating",
    "label",
    "decision",
    "answer",
    "result",
];

/// Finds the verdict in a JSON value.
pub(super) trait VerdictField {
    fn verdict(&self) -> Option<&Value>;
}

impl VerdictField for Value {
    /// The value of the first of the known keys, or the only value. `None` if it is ambiguous.
    fn verdict(&self) -> Option<&Value> {
        match self {
            Value::Object(map) => {
                let known = KEYS
                    .iter()
                    .find_map(|key| map.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)));
                match known {
                    Some((_, value)) => value.verdict(),
                    None if map.len() == 1 => map.values().next()?.verdict(),
                    None => None,
                }
            }
            Value::Array(items) if items.len() == 1 => items.first()?.verdict(),
            Value::Array(_) | Value::Null => None,
            value => Some(value),
        }
    }
}

/// Labels before a verdict, as in `verdict: yes`.
const LABELS: &[&str] = &[
    "answer",
    "final answer",
    "score",
    "binary score",
    "binary_score",
    "verdict",
    "grade",
    "relevant",
    "relevance",
    "supported",
    "support",
    "useful",
    "utility",
    "rating",
    "judgement",
    "judgment",
    "decision",
    "result",
    "답",
    "답변",
    "대답",
    "정답",
    "판정",
    "점수",
    "관련성",
    "答え",
    "回答",
    "判定",
    "評価",
    "得点",
    "答案",
    "评分",
    "評分",
    "判断",
    "判斷",
    "结论",
    "結論",
    "得分",
];

/// The text after the last `label:`, `label =` or `label is` in `plain`, to the end of its line.
pub(super) fn labelled(plain: &str) -> Option<String> {
    plain.lines().rev().find_map(|line| {
        let line = line.trim_end();
        let mut found = None;
        for (at, mark) in line.match_indices([':', '=']).chain(line.match_indices(" is ")) {
            let before = line[..at].trim_end().trim_end_matches(['_', '[', '(', ')', ']']);
            let named = LABELS.iter().any(|label| {
                before
                    .strip_suffix(label)
                    .is_some_and(|rest| rest.is_empty() || !rest.ends_with(char::is_alphanumeric))
            });
            let value = line[at + mark.len()..].trim_start();
            if named && !value.is_empty() {
                found = Some(value);
            }
        }
        found.map(str::to_owned)
    })
}

/// The first word of `plain`.
pub(super) fn first_word(plain: &str) -> Option<&str> {
    plain
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
}

/// The texts of up to 20 characters in quotes, backticks or bold.
pub(super) fn quoted(reply: &str) -> Vec<String> {
    let pairs = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('「', '」'),
        ('『', '』'),
        ('*', '*'),
    ];
    let mut found = Vec::new();
    for (open, close) in pairs {
        let mut rest = reply;
        while let Some(start) = rest.find(open) {
            let tail = &rest[start + open.len_utf8()..];
            let Some(end) = tail.find(close) else { break };
            let inner = tail[..end].trim();
            if !inner.is_empty() && inner.chars().count() <= 20 {
                found.push(inner.to_owned());
            }
            rest = &tail[if end == 0 { 0 } else { end + close.len_utf8() }..];
        }
    }
    found
}
