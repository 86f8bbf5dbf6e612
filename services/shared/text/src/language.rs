//! Language detection, tuned for short questions.

use super::script::Script;

/// A language: one with prompts and rules of its own, or any other by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// English.
    En,
    /// Korean.
    Ko,
    /// Japanese.
    Ja,
    /// Chinese in simplified characters.
    Zh,
    /// Chinese in traditional characters.
    ZhHant,
    /// Another language, by its BCP-47 code.
    Other(&'static str),
}

impl Language {
    /// The languages with prompts and rules of their own.
    pub const ALL: [Self; 5] = [Self::En, Self::Ko, Self::Ja, Self::Zh, Self::ZhHant];

    /// The BCP-47 code: `en`, `ko`, `ja`, `zh`, `zh-Hant`, …
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Ko => "ko",
            Self::Ja => "ja",
            Self::Zh => "zh",
            Self::ZhHant => "zh-Hant",
            Self::Other(code) => code,
        }
    }

    /// The language with this BCP-47 code, or `None` if it is unknown. Region subtags are ignored, except that `tw` and
    /// `hk` select traditional Chinese characters.
    pub fn from_code(code: &str) -> Option<Self> {
        let code = code.to_lowercase();
        let (primary, rest) = code.split_once('-').unwrap_or((&code, ""));
        match primary {
            "en" => Some(Self::En),
            "ko" => Some(Self::Ko),
            "ja" => Some(Self::Ja),
            "zh" if rest.contains("hant") || rest.contains("tw") || rest.contains("hk") => Some(Self::ZhHant),
            "zh" => Some(Self::Zh),
            _ => other_language(primary).map(|other| Self::Other(other.code)),
        }
    }

    /// The name in English, for prompts.
    pub fn name(self) -> &'static str {
        match self {
            Self::En => "English",
            Self::Ko => "Korean",
            Self::Ja => "Japanese",
            Self::Zh => "Chinese (simplified characters)",
            Self::ZhHant => "Chinese (traditional characters)",
            Self::Other(code) => other_language(code).map_or("the language of the question", |other| other.name),
        }
    }

    /// The answer to give when the evidence does not answer the question, in this language, or in English if the
    /// language has no phrase.
    pub fn abstention(self) -> &'static str {
        match self {
            Self::Ko => "문서에는 이 질문에 대한 답이 없습니다.",
            Self::Ja => "文書にはこの質問に対する答えがありません。",
            Self::Zh => "文档没有回答这个问题。",
            Self::ZhHant => "文件沒有回答這個問題。",
            Self::En => ENGLISH_ABSTENTION,
            Self::Other(code) => other_language(code).map_or(ENGLISH_ABSTENTION, |other| other.abstention),
        }
    }

    /// The [abstention](Self::abstention) of each language.
    pub(crate) fn abstentions() -> impl Iterator<Item = &'static str> {
        let others = OTHER_LANGUAGES.iter().map(|other| other.abstention);
        Self::ALL.into_iter().map(Self::abstention).chain(others)
    }
}

const ENGLISH_ABSTENTION: &str = "The documents do not answer this question.";

/// What is known of each language that is [`Language::Other`].
struct OtherLanguage {
    /// The ISO 639-3 code, which whatlang tells.
    iso: &'static str,
    /// The BCP-47 code.
    code: &'static str,
    name: &'static str,
    abstention: &'static str,
}

const fn other(iso: &'static str, code: &'static str, name: &'static str, abstention: &'static str) -> OtherLanguage {
    OtherLanguage {
        iso,
        code,
        name,
        abstention,
    }
}

const OTHER_LANGUAGES: &[OtherLanguage] = &[
    other("ara", "ar", "Arabic", "المستندات لا تجيب عن هذا السؤال."),
    other("ben", "bn", "Bengali", "নথিগুলিতে এই প্রশ্নের উত্তর নেই।"),
    other("bul", "bg", "Bulgarian", "Документите не отговарят на този въпрос."),
    other("ces", "cs", "Czech", "Dokumenty na tuto otázku neodpovídají."),
    other("dan", "da", "Danish", "Dokumenterne besvarer ikke dette spørgsmål."),
    other("deu", "de", "German", "Die Dokumente beantworten diese Frage nicht."),
    other("ell", "el", "Greek", "Τα έγγραφα δεν απαντούν σε αυτή την ερώτηση."),
    other("spa", "es", "Spanish", "Los documentos no responden a esta pregunta."),
    other("fin", "fi", "Finnish", "Asiakirjat eivät vastaa tähän kysymykseen."),
    other(
        "fra",
        "fr",
        "French",
        "Les documents ne répondent pas à cette question.",
    ),
    other("heb", "he", "Hebrew", "המסמכים אינם עונים על שאלה זו."),
    other("hin", "hi", "Hindi", "दस्तावेज़ों में इस प्रश्न का उत्तर नहीं है।"),
    other("hrv", "hr", "Croatian", "Dokumenti ne odgovaraju na ovo pitanje."),
    other(
        "hun",
        "hu",
        "Hungarian",
        "A dokumentumok nem válaszolnak erre a kérdésre.",
    ),
    other("ind", "id", "Indonesian", "Dokumen tidak menjawab pertanyaan ini."),
    other("ita", "it", "Italian", "I documenti non rispondono a questa domanda."),
    other("nld", "nl", "Dutch", "De documenten beantwoorden deze vraag niet."),
    other("nob", "nb", "Norwegian", "Dokumentene besvarer ikke dette spørsmålet."),
    other("pes", "fa", "Persian", "اسناد به این پرسش پاسخ نمی\u{200c}دهند."),
    other("pol", "pl", "Polish", "Dokumenty nie odpowiadają na to pytanie."),
    other(
        "por",
        "pt",
        "Portuguese",
        "Os documentos não respondem a esta pergunta.",
    ),
    other("ron", "ro", "Romanian", "Documentele nu răspund la această întrebare."),
    other("rus", "ru", "Russian", "В документах нет ответа на этот вопрос."),
    other("slk", "sk", "Slovak", "Dokumenty na túto otázku neodpovedajú."),
    other("srp", "sr", "Serbian", "Документи не одговарају на ово питање."),
    other("swe", "sv", "Swedish", "Dokumenten besvarar inte den här frågan."),
    other("tam", "ta", "Tamil", "ஆவணங்களில் இந்தக் கேள்விக்குப் பதில் இல்லை."),
    other("tha", "th", "Thai", "เอกสารไม่ได้ตอบคำถามนี้"),
    other("tur", "tr", "Turkish", "Belgeler bu soruyu yanıtlamıyor."),
    other(
        "ukr",
        "uk",
        "Ukrainian",
        "У документах немає відповіді на це запитання.",
    ),
    other("urd", "ur", "Urdu", "دستاویزات میں اس سوال کا جواب نہیں ہے۔"),
    other("vie", "vi", "Vietnamese", "Các tài liệu không trả lời câu hỏi này."),
];

fn other_language(code: &str) -> Option<&'static OtherLanguage> {
    OTHER_LANGUAGES.iter().find(|other| other.code == code)
}

/// Function words that occur in most questions of one language and rarely in the others.
pub(super) const FUNCTION_WORDS: &[(Language, &[&str])] = &[
    (
        Language::En,
        &[
            "the", "is", "are", "was", "were", "what", "who", "when", "where", "why", "how", "which", "does", "did",
            "do", "of", "and", "in", "to", "for", "with", "that", "this", "has", "have", "it", "many", "much", "from",
            "by", "an", "at", "can", "be", "not",
        ],
    ),
    (
        Language::Other("de"),
        &[
            "der", "die", "das", "ist", "sind", "war", "wer", "wie", "wo", "wann", "warum", "welche", "welcher",
            "welches", "und", "von", "ein", "eine", "den", "dem", "mit", "für", "im", "nicht", "viele", "wurde", "hat",
            "zu",
        ],
    ),
    (
        Language::Other("fr"),
        &[
            "le", "la", "les", "est", "sont", "qui", "que", "quel", "quelle", "quels", "où", "quand", "pourquoi",
            "comment", "combien", "et", "des", "du", "de", "une", "un", "dans", "pour", "avec", "était", "ont", "au",
        ],
    ),
    (
        Language::Other("es"),
        &[
            "el", "la", "los", "las", "es", "son", "quién", "qué", "cuál", "dónde", "cuándo", "cómo", "cuántos",
            "cuántas", "y", "del", "de", "una", "un", "en", "para", "con", "fue", "por", "tiene",
        ],
    ),
    (
        Language::Other("it"),
        &[
            "il", "lo", "gli", "è", "sono", "chi", "che", "quale", "dove", "quando", "perché", "come", "quanti",
            "quante", "della", "del", "di", "una", "un", "per", "con", "era", "nel", "ha",
        ],
    ),
    (
        Language::Other("pt"),
        &[
            "o", "os", "as", "é", "são", "quem", "qual", "onde", "quando", "quanto", "quantos", "quantas", "como",
            "da", "de", "do", "dos", "uma", "um", "em", "para", "por", "com", "foi", "há", "não", "que", "no", "na",
        ],
    ),
    (
        Language::Other("nl"),
        &[
            "de", "het", "een", "is", "zijn", "wie", "wat", "waar", "wanneer", "waarom", "hoe", "welke", "en", "van",
            "voor", "met", "werd", "hoeveel", "niet", "op",
        ],
    ),
];

/// Detects the language of `text`. The default is [`Language::En`].
pub fn language(text: &str) -> Language {
    let (mut kana, mut han, mut hangul, mut alphabet) = (0, 0, 0, 0);
    for c in text.chars() {
        match Script::of(c) {
            Script::Hiragana | Script::Katakana => kana += 1,
            Script::Han => han += 1,
            Script::Hangul => hangul += 1,
            Script::Alphabet => alphabet += 1,
            Script::Digit | Script::Other => {}
        }
    }
    let wide = kana + han + hangul;
    // A foreign name may have more Latin letters than the question around it has CJK characters. Beyond four to one the
    // text is not taken for CJK.
    if wide > 0 && 4 * wide >= alphabet && !asks_in_alphabet(text, kana + hangul) {
        return if hangul >= kana && hangul * 2 >= han {
            Language::Ko
        } else if kana > 0 && (kana * 8 >= han || kana > 3) {
            Language::Ja
        } else {
            chinese(text)
        };
    }
    alphabetic(text)
}

/// Whether the question is asked in an alphabetic language about something in CJK characters: "What does 你好 mean?"
fn asks_in_alphabet(text: &str, kana_or_hangul: usize) -> bool {
    let lower = text.to_lowercase();
    let hints = lower.split(|c: char| !c.is_alphabetic() || Script::is_cjk(c));
    let hints = hints
        .filter(|word| FUNCTION_WORDS.iter().any(|(_, hints)| hints.contains(word)))
        .count();
    let ends = text
        .chars()
        .rev()
        .find(|c| c.is_alphabetic())
        .is_some_and(|c| !Script::is_cjk(c));
    let asks_in_chinese = text.contains([
        '是', '什', '的', '吗', '嗎', '呢', '谁', '誰', '哪', '何', '几', '幾', '多', '在', '有',
    ]);
    hints >= 2 && (ends || (kana_or_hangul == 0 && !asks_in_chinese))
}

/// Simplified or traditional Chinese, by the characters that only one of them has.
fn chinese(text: &str) -> Language {
    const SIMPLIFIED: &str = "个么为义乐习书买乱争于亚产亲亿仅从仓仪们价众优会伟传伤伦体余侧储儿党兰关兴养军农冲决况净凉减几凤击刘则创别剂剧办务动励劳势区医华协单卖卢卫厂历厅压县参双发变叠号后吗听启员响团园围国图圆圣场坏块坚处备复够头夹奖妇妈学宁宝实宪对导寿将尔尘尝层岁岛币师帅带帮广应库开异弃张弹强归当录总恋恶惊战户扩扫执护报担拟择损换据挤挥摄撑数断无旧时显晓术机杂权条来杨极构标树样桥梦检楼欢欧历毁毕气汇汉汤沟泽洁测济浏润涨温湾满滚灭灯灵炼点热爱爷独狮猎现环电画畅疗监盖盘础确离种积称稳穷竞笔筑签简类粮红约级纪纯纲纳纵纷纸线组细织终绍经结给络绝统继绩绪续维绿缓编缘网罗罚职联肃脏脑腾舰艺节苏药莱获萨营落蓝虽补装规观视览觉计订认让训议记讲许论设访证评识诉词译试诗话询该详语误说请诸读课调谁谈谢财责败货质贩贫购贯贵贸费资赏赛赞赵赶车转轮软轻载较辑输达迁过运还这进远连迟选适逻遗邓邻郑释里针钟钢钱铁银错锋镇长门问间闻队阳阴阵际陆陈险随隐难静韩页项顺须顾预领频题颜风飞饭饮馆马驻验骗鱼鲁鸟鸡麦黄齐龙龟";
    const TRADITIONAL: &str = "個麼為義樂習書買亂爭於亞產親億僅從倉儀們價眾優會偉傳傷倫體餘側儲兒黨蘭關興養軍農衝決況淨涼減幾鳳擊劉則創別劑劇辦務動勵勞勢區醫華協單賣盧衛廠歷廳壓縣參雙發變疊號後嗎聽啟員響團園圍國圖圓聖場壞塊堅處備復夠頭夾獎婦媽學寧寶實憲對導壽將爾塵嘗層歲島幣師帥帶幫廣應庫開異棄張彈強歸當錄總戀惡驚戰戶擴掃執護報擔擬擇損換據擠揮攝撐數斷無舊時顯曉術機雜權條來楊極構標樹樣橋夢檢樓歡歐曆毀畢氣匯漢湯溝澤潔測濟瀏潤漲溫灣滿滾滅燈靈煉點熱愛爺獨獅獵現環電畫暢療監蓋盤礎確離種積稱穩窮競筆築簽簡類糧紅約級紀純綱納縱紛紙線組細織終紹經結給絡絕統繼績緒續維綠緩編緣網羅罰職聯肅臟腦騰艦藝節蘇藥萊獲薩營藍雖補裝規觀視覽覺計訂認讓訓議記講許論設訪證評識訴詞譯試詩話詢該詳語誤說請諸讀課調誰談謝財責敗貨質販貧購貫貴貿費資賞賽贊趙趕車轉輪軟輕載較輯輸達遷過運還這進遠連遲選適邏遺鄧鄰鄭釋裡針鐘鋼錢鐵銀錯鋒鎮長門問間聞隊陽陰陣際陸陳險隨隱難靜韓頁項順須顧預領頻題顏風飛飯飲館馬駐驗騙魚魯鳥雞麥黃齊龍龜";
    let count = |set: &str| text.chars().filter(|c| set.contains(*c)).count();
    if count(TRADITIONAL) > count(SIMPLIFIED) {
        Language::ZhHant
    } else {
        Language::Zh
    }
}

fn alphabetic(text: &str) -> Language {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    let mut scores: Vec<(usize, Language)> = FUNCTION_WORDS
        .iter()
        .map(|(language, hints)| (words.iter().filter(|word| hints.contains(word)).count(), *language))
        .collect();
    scores.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    if let [(best, language), (second, _), ..] = scores[..]
        && best > second
    {
        return language;
    }
    let Some(info) = whatlang::detect(text) else {
        return Language::En;
    };
    let other = OTHER_LANGUAGES
        .iter()
        .find(|other| other.iso == info.lang().code())
        .map(|other| Language::Other(other.code));
    let latin = info.script() == whatlang::Script::Latin;
    match other {
        Some(language) if info.is_reliable() || !(latin || info.script() == whatlang::Script::Cyrillic) => language,
        // Short Cyrillic text is most often Russian, unless it has letters that Russian does not have.
        _ if info.script() == whatlang::Script::Cyrillic => {
            Language::Other(if lower.contains(['і', 'ї', 'є', 'ґ']) {
                "uk"
            } else {
                "ru"
            })
        }
        _ => Language::En,
    }
}

#[cfg(test)]
mod tests;
