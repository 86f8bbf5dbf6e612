use super::*;
use proptest::prelude::*;

fn of(text: &str) -> Vec<&str> {
    sentences(text).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn latin_sentence_boundaries() {
    for (text, expected) in [
        ("It rains. We stay.", vec!["It rains.", "We stay."]),
        (
            "Dr. Smith paid 3.5 dollars. He left.",
            vec!["Dr. Smith paid 3.5 dollars.", "He left."],
        ),
        (
            "The U.S. Army left the U.S. The war ended.",
            vec!["The U.S. Army left the U.S.", "The war ended."],
        ),
        (
            "J. K. Rowling wrote it. Really!",
            vec!["J. K. Rowling wrote it.", "Really!"],
        ),
        (
            "\"Why not?\" he asked. \"No reason.\" Then silence.",
            vec!["\"Why not?\" he asked.", "\"No reason.\"", "Then silence."],
        ),
        (
            "See Fig. 3 for it. Nothing (really nothing!) helps.",
            vec!["See Fig. 3 for it.", "Nothing (really nothing!) helps."],
        ),
        (
            "Apples, pears, etc. are fruit, e.g. Braeburn. Eat them!?",
            vec!["Apples, pears, etc. are fruit, e.g. Braeburn.", "Eat them!?"],
        ),
        (
            "Born c. 1850. Died in 1902. Buried at home.",
            vec!["Born c. 1850.", "Died in 1902.", "Buried at home."],
        ),
        (
            "Read example.com/a.b today. No. It is down.",
            vec!["Read example.com/a.b today.", "No. It is down."],
        ),
        (
            "Cut in several places . Police came .",
            vec!["Cut in several places .", "Police came ."],
        ),
        ("no end", vec!["no end"]),
        ("", vec![]),
        (" \n ", vec![]),
        ("...", vec!["..."]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn abbreviations_and_ordinals_of_other_languages_do_not_end_a_sentence() {
    for text in [
        "Die Firma Gebr. Zingg hat am 14. Juni und im 3. Stock geliefert.",
        "Das Holz kam vgl. Anlage 2, Abs. 3, zzgl. Fracht, Tel. +41 31 000.",
        "La Sra. Molina llamó a Vda. de Ruiz, tel. (34) 600.",
        "Il Sig. Conti ha scritto a Dott. Riva il 3 maggio.",
        "Mme. Petit et M. Durand, env. Lyon, sont venus.",
        "Dhr. Bakker betaalt incl. BTW.",
    ] {
        assert_eq!(of(text), [text]);
    }
    assert_eq!(of("Es waren 14. Danach kam niemand.").len(), 2);
    assert_eq!(of("Sie kam am 3. Mai. Er kam später.").len(), 2);
}

#[test]
fn a_sentence_goes_on_behind_a_line_of_code() {
    let manual = "    The option makes it log each change. It logs both the calls (e.g.\n\n    2026-01-02 install crane 1.2\n\n    \
                  ) and the results (e.g.\n\n    2026-01-02 status installed\n\n    ) If you would like more, you could add\n\n    \
                  log /var/log/crane.log\n\n    to your /etc/crane.cfg. Be sure that it is rotated.\n";
    let found = of(manual);
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(
        found[1].starts_with("It logs both") && found[1].ends_with("installed\n\n    )"),
        "{found:#?}"
    );
    assert!(
        found[2].starts_with("If you") && found[2].ends_with("to your /etc/crane.cfg."),
        "{found:#?}"
    );
    // These are lists and paragraphs.
    for text in [
        "the first of the things that are to be done\n\nthe other\n\nthe third of them",
        "A paragraph that is long enough, and ends here.\n\nls /var\n\nwhich is lower case",
        "A paragraph that is long enough, and is open\n\n- /var/log\n\nwhich is lower case",
        "A paragraph that is long enough, and is open\n\n/var/log\n\nAnother paragraph",
        "tar\n\n/var/log\n\nwhich is lower case",
    ] {
        assert_eq!(of(text).len(), 3, "{text}");
    }
}

#[test]
fn an_option_in_an_open_quote_is_part_of_its_sentence() {
    let wrapped = "If the shell was started in its strict mode, as it is by `crane\n-o posix', nothing is printed.";
    assert_eq!(of(wrapped), [wrapped]);
    assert_eq!(
        of("The shell was started in its strict mode, as by `crane`\n-o posix  strict").len(),
        2
    );
}

#[test]
fn a_sentence_does_not_end_in_code() {
    let command = "Run `add app … > app.key. Now`. Restart it.";
    assert_eq!(of(command), ["Run `add app … > app.key. Now`.", "Restart it."]);
    assert_eq!(
        of("Use ``a ` b. C`` twice. Stop."),
        ["Use ``a ` b. C`` twice.", "Stop."]
    );
    let unclosed = "A single ` is odd. It opens ``nothing. At all.";
    assert_eq!(of(unclosed), ["A single ` is odd.", "It opens ``nothing.", "At all."]);
}

#[test]
fn chinese_japanese_and_korean_sentences_need_no_space() {
    for (text, expected) in [
        (
            "北京是首都。人口很多！对吗？",
            vec!["北京是首都。", "人口很多！", "对吗？"],
        ),
        (
            "彼は「行く。」と言った。雨だ。",
            vec!["彼は「行く。」と言った。", "雨だ。"],
        ),
        (
            "바람이 분다.비가 온다. 길이는 3.5 m이다.",
            vec!["바람이 분다.", "비가 온다.", "길이는 3.5 m이다."],
        ),
        ("他說：「好。」她走了。", vec!["他說：「好。」", "她走了。"]),
        (
            "高さは3.5メートル。幅は2.1メートル。",
            vec!["高さは3.5メートル。", "幅は2.1メートル。"],
        ),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn lines_of_markdown_are_boundaries_and_wrapped_lines_are_not() {
    let text = "# Heating\n\nThe boiler is checked every year by a firm that is certified, which costs\nabout 90 euros. It is old.\n\n- Call first\n- Then pay 1. rate\n1. One thing\n2. Another thing\n\n---\n";
    assert_eq!(
        of(text),
        [
            "# Heating",
            "The boiler is checked every year by a firm that is certified, which costs\nabout 90 euros.",
            "It is old.",
            "- Call first",
            "- Then pay 1. rate",
            "1. One thing",
            "2. Another thing\n\n---",
        ]
    );
}

#[test]
fn the_fences_of_code_are_part_of_the_code() {
    let text = "Run:\n\n```sh\ncargo run\n```\nthen wait.\n```\nTick one\nTick two\n```\nDone.";
    assert_eq!(
        of(text),
        [
            "Run:",
            "```sh\ncargo run\n```",
            "then wait.",
            "```\nTick one",
            "Tick two\n```",
            "Done.",
        ]
    );
    assert_eq!(of("---\n```\nls -l\n```"), ["---\n```\nls -l\n```"]);
    assert_eq!(of("Run:\n```"), ["Run:\n```"], "nothing is in the code");
    let nested = "````md\n```\nsome code\n```\n````\nDone.";
    assert_eq!(of(nested), ["````md\n```", "some code\n```\n````", "Done."]);
}

#[test]
fn definitions_of_links_are_sentences_of_their_own() {
    let text = "Add a limit that several services share ([#574]).\n[#574]: https://docs.example/574\n[build status]: \
                https://docs.example/a.svg\n[guide]: guide.md \"The guide\"\nthe end";
    assert_eq!(
        of(text),
        [
            "Add a limit that several services share ([#574]).",
            "[#574]: https://docs.example/574",
            "[build status]: https://docs.example/a.svg",
            "[guide]: guide.md \"The guide\"",
            "the end"
        ]
    );
    assert!(!is_link_definition("[`port`]: The port that a service listens on."));
}

#[test]
fn a_term_and_its_definition_are_one_sentence() {
    assert_eq!(
        of("RMA\n:   The number that a return has.\n\nBlue Friday\n: No releases."),
        ["RMA\n:   The number that a return has.", "Blue Friday\n: No releases."]
    );
}

#[test]
fn fields_settings_options_and_log_entries_are_sentences_of_their_own() {
    let mail = "Subject: Re: cracked cable glands of the last lot, and what to do\nFrom: Ada\nDate: today";
    assert_eq!(of(mail).len(), 3);
    assert_eq!(of("retries: 3\ntimeout: 5s\nlimit = 8\n\"strict\": true").len(), 4);
    assert_eq!(
        of("-u, --user only those of a user whose name is given in full\n--all each of them").len(),
        2
    );
    // What it does stands in the line below.
    let manual = "  -r, --runlevel\n      현재 실행 단계를 보여 줍니다.\n      기본값은 아닙니다.\n  -q\n  -s, --short\n      Print the name.";
    assert_eq!(
        of(manual),
        [
            "-r, --runlevel\n      현재 실행 단계를 보여 줍니다.",
            "기본값은 아닙니다.",
            "-q",
            "-s, --short\n      Print the name."
        ]
    );
    // The same of a term, and where a tab indents further than the spaces above it.
    let manual = "FILES\n       /etc/shells\n\t   The shells that a user may choose.\n\n       5\n\t   file busy, try again\n\n       UMASK (number)\n\t   The mask of new files.\n\t   Default is 022.";
    assert_eq!(
        of(manual),
        [
            "FILES",
            "/etc/shells\n\t   The shells that a user may choose.",
            "5\n\t   file busy, try again",
            "UMASK (number)\n\t   The mask of new files.",
            "Default is 022."
        ]
    );
    assert_eq!(of("  Open (\n    File 7\n").len(), 2);
    assert_eq!(of("  Harbour:\n    Port 80\n  Open(\n    File 7\n").len(), 4);
    let log = "2026-04-18T06:30:24Z gw-1 INFO GET /v1/readings 200 in 12 ms\n2026-04-18T06:31:15Z gw-1 INFO GET /";
    assert_eq!(of(log).len(), 2);
    // What is wrapped stays one sentence, also where a number or a name with a colon comes first.
    let wrapped = "The mill was sold to a family from the next village, who ran it until\n1984 as a bakery, for\none reason: the mill was cheap.";
    assert_eq!(of(wrapped).len(), 1);
    let wrapped = "Where the mill has no water, what it grinds with the help of the engine is\nFINE: nobody can tell.";
    assert_eq!(of(wrapped).len(), 1);
    assert_eq!(
        of("The council met in the mill\nDecision: postponed\nOwner: Ada").len(),
        3
    );
}

proptest! {
    #[test]
    fn ranges_are_ordered_trimmed_and_cover_all(text in "([a-zA-Z0-9 .!?\"'()`\\n#-]|[가나다。！？「」、水火年あいと…]){0,120}") {
        let found = sentences(&text);
        let mut at = 0;
        for range in &found {
            prop_assert!(range.start >= at && range.end > range.start);
            prop_assert!(text[at..range.start].trim().is_empty());
            prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
            at = range.end;
        }
        prop_assert!(text[at..].trim().is_empty());
    }

    #[test]
    fn any_text_is_covered(text in "\\PC{0,60}") {
        let kept: usize = sentences(&text).iter().map(|range| text[range.clone()].chars().filter(|c| !c.is_whitespace()).count()).sum();
        prop_assert_eq!(kept, text.chars().filter(|c| !c.is_whitespace()).count());
    }
}
