//! What a run of Chinese says, without question words and particles.
//!
//! There is no dictionary here. What stands between two words that bind is one term, which may be a phrase; the index
//! compares pairs of characters, so a phrase loses nothing.

/// Words that ask or bind, longest first where one starts with another. Characters that are as often a part of a word
/// (在, 和, 有) stand here only together with what makes them bind.
const BINDING: &[&str] = &[
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
/// Pieces that say nothing by themselves.
const EMPTY: &[&str] = &[
    "了", "在", "和", "与", "與", "有", "被", "由", "于", "於", "中", "个", "個", "这", "這", "那", "它", "他", "她",
    "最", "几", "幾", "吧", "啊",
];

/// The parts of `run` that say something.
pub(super) fn content(run: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < run.len() {
        if let Some(binding) = BINDING.iter().find(|binding| run[at..].starts_with(*binding)) {
            found.push(&run[start..at]);
            at += binding.len();
            start = at;
        } else {
            at += run[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    found.push(&run[start..]);
    let ended = found
        .into_iter()
        .map(|part| part.trim_matches(['·', '・']).trim_end_matches('了'));
    ended.filter(|part| !part.is_empty() && !EMPTY.contains(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_words_and_particles_split() {
        for (run, expected) in [
            ("长江的长度是多少", vec!["长江", "长度"]),
            ("請問故宮博物院在哪裡", vec!["故宮博物院"]),
            ("是谁发明了电话", vec!["发明了电话"]),
            ("它是什么", vec![]),
            ("加西亚·马尔克斯的小说有哪些", vec!["加西亚·马尔克斯", "小说"]),
        ] {
            assert_eq!(content(run), expected, "{run}");
        }
    }
}
