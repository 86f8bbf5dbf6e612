//! Character scripts, as far as the tokenizer distinguishes them.

/// Scripts that are tokenized differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    /// Chinese characters.
    Han,
    /// Hiragana.
    Hiragana,
    /// Katakana, with the prolonged sound mark.
    Katakana,
    /// Hangul syllables and letters.
    Hangul,
    /// Letters of scripts that put spaces between words.
    Alphabet,
    /// Decimal digits.
    Digit,
    /// Everything else.
    Other,
}

impl Script {
    /// The script of `c`.
    pub fn of(c: char) -> Self {
        match c {
            // Most text is of these, and they need no table.
            'a'..='z' | 'A'..='Z' => Self::Alphabet,
            '0'..='9' | '\u{ff10}'..='\u{ff19}' => Self::Digit,
            '\0'..='\u{7f}' => Self::Other,
            '\u{3041}'..='\u{309f}' => Self::Hiragana,
            '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => {
                Self::Katakana
            }
            '\u{3005}'
            | '\u{3007}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{323af}' => Self::Han,
            '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' => {
                Self::Hangul
            }
            c if c.is_alphabetic() => Self::Alphabet,
            _ => Self::Other,
        }
    }

    /// Whether `c` is Chinese, Japanese or Korean.
    pub fn is_cjk(c: char) -> bool {
        matches!(Self::of(c), Self::Han | Self::Hiragana | Self::Katakana | Self::Hangul)
    }

    /// Whether a text is Chinese, Japanese or Korean, with words of other scripts in it or without: more than one of
    /// their characters for three other letters. Its first 2,000 characters tell.
    #[must_use]
    pub fn is_cjk_text(text: &str) -> bool {
        let (mut cjk, mut letters) = (0_usize, 0_usize);
        for c in text.chars().take(2000) {
            if Self::is_cjk(c) {
                cjk += 1;
            } else if c.is_alphabetic() {
                letters += 1;
            }
        }
        cjk * 3 > letters
    }
}
