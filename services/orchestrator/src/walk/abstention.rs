//! Saying that there is no answer, in the question's language (R16).

/// Says that the evidence does not answer the question. The language is read off the script of the question; it is only
/// needed where the generator did not say so in words of its own.
pub(super) fn abstention(question: &str) -> &'static str {
    match question.chars().find_map(script) {
        Some(Script::Hangul) => "찾은 문서에는 이 질문에 대한 답이 없습니다.",
        Some(Script::Kana) => "見つかった文書にはこの質問の答えがありません。",
        Some(Script::Han) if question.chars().any(|c| script(c) == Some(Script::Kana)) => {
            "見つかった文書にはこの質問の答えがありません。"
        }
        Some(Script::Han) => "找到的文档没有回答这个问题。",
        None => "The documents that were found do not answer this question.",
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Hangul,
    Kana,
    Han,
}

fn script(c: char) -> Option<Script> {
    match c {
        '\u{AC00}'..='\u{D7A3}' | '\u{1100}'..='\u{11FF}' => Some(Script::Hangul),
        '\u{3040}'..='\u{30FF}' => Some(Script::Kana),
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' => Some(Script::Han),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
