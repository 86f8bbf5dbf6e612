//! Detects answers that abstain.

use super::language::Language;

const ABSTENTION_PHRASES: &[&str] = &[
    "i don't know",
    "i do not know",
    "i'm not sure",
    "cannot answer",
    "can't answer",
    "could not find",
    "couldn't find",
    "no information about",
    "does not contain information",
    "do not contain information",
    "does not provide",
    "do not provide",
    "not enough information",
    "insufficient information",
    "documents do not answer",
    "unable to answer",
    "not mentioned in the",
    "모르겠",
    "알 수 없",
    "답할 수 없",
    "찾을 수 없",
    "정보가 없",
    "정보가 부족",
    "나와 있지 않",
    "언급되어 있지 않",
    "わかりません",
    "分かりません",
    "答えられません",
    "回答できません",
    "見つかりません",
    "情報がありません",
    "記載されていません",
    "不明です",
    "我不知道",
    "不知道",
    "无法回答",
    "無法回答",
    "没有提到",
    "沒有提到",
    "未提及",
    "没有相关信息",
    "沒有相關資訊",
    "找不到",
    "je ne sais pas",
    "ne répondent pas à cette question",
    "ne répondent pas à la question",
    "ne contiennent pas cette information",
    "aucune information sur",
    "ich weiß es nicht",
    "weiß ich nicht",
    "frage nicht beantworten",
    "nicht zu beantworten",
    "unterlagen nicht beantworten",
    "keine informationen zu",
    "no lo sé",
    "no responden a esta pregunta",
    "no responden a la pregunta",
    "no hay información sobre",
    "no contienen información sobre",
    "no se menciona",
    "non lo so",
    "non rispondono a questa domanda",
    "non rispondono alla domanda",
    "non contengono informazioni su",
    "nessuna informazione su",
    "não sei",
    "não respondem a esta pergunta",
    "não há informações sobre",
    "não contêm informações sobre",
];

/// Whether `answer` abstains. It does if it is empty, starts with the abstention phrase of a [`Language`], or is short
/// and contains a known abstention phrase. Short means at most 160 characters, or 60 if any of them is Chinese,
/// Japanese or Korean; a long answer that mentions a doubt is an answer.
pub fn is_abstention(answer: &str) -> bool {
    let plain = answer.trim().to_lowercase().replace('’', "'");
    if plain.is_empty() {
        return true;
    }
    let own = Language::abstentions().any(|abstention| plain.starts_with(&abstention.to_lowercase()));
    let wide = plain.chars().any(super::Script::is_cjk);
    let short = plain.chars().count() <= if wide { 60 } else { 160 };
    own || (short && ABSTENTION_PHRASES.iter().any(|phrase| plain.contains(phrase)))
}

#[cfg(test)]
mod tests;
