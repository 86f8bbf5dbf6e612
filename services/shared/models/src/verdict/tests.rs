mod hostile;

use proptest::prelude::*;

use super::*;
use crate::chat::TokenLogprobs;

#[test]
fn r5_parses_yes_in_every_format() {
    for text in [
        "yes",
        "Yes",
        "YES.",
        " yes \n",
        "**Yes**",
        "\"yes\"",
        "'Yes.'",
        "yes, it mentions the year.",
        "Yes - relevant",
        "```json\n{\"binary_score\": \"yes\"}\n```",
        "{\"score\": true}",
        "{\"score\": 1}",
        "{'score': 'yes'} yes",
        "Here you are: {\"binary_score\":\"Yes.\"}",
        "{\"grade\": {\"binary_score\": \"yes\"}}",
        "[\"yes\"]",
        "{\"reason\": \"no date, but a name\", \"relevant\": \"yes\"}",
        "Answer: yes",
        "binary_score = YES",
        "The score is yes",
        "The document names the city.\n\nyes",
        "I would grade it 'yes'.",
        "true",
        "Relevant",
        "<think>no, or is it?</think>yes",
        "ＹＥＳ",
        "예",
        "예.",
        "네, 관련이 있습니다.",
        "답변: 예",
        "예입니다",
        "はい",
        "はい。",
        "はいです",
        "はい、関連しています。",
        "判定：はい",
        "是",
        "是的，相关。",
        "對",
        "相关",
        "答案：是",
        "oui",
        "Yes, there is no doubt.",
    ] {
        assert_eq!(parse(text), Some(Verdict::Yes), "{text}");
    }
}

#[test]
fn r5_parses_no_in_every_format() {
    for text in [
        "no",
        "No.",
        "NO!",
        "*no*",
        "no, it does not",
        "No it does not.",
        "{\"binary_score\":\"no\"}",
        "{\"relevant\": false}",
        "{\"score\": 0}",
        "Score: no",
        "not relevant",
        "Irrelevant.",
        "It is about something else.\nNo.",
        "아니오",
        "아니요.",
        "아니오, 관련이 없습니다.",
        "아닙니다",
        "いいえ",
        "いいえ、違います。",
        "否",
        "不是",
        "不，文档没有提到。",
        "無關",
        "{\"판정\": \"아니오\"}",
        "The grade is \"no\".",
        "```no\n`",
        "false",
    ] {
        assert_eq!(parse(text), Some(Verdict::No), "{text}");
    }
}

#[test]
fn unclear_replies_have_no_verdict() {
    for text in [
        "",
        "   ",
        "?",
        "maybe",
        "yes and no",
        "yes/no",
        "yes or no",
        "No doubt it is.",
        "There is no mention of a date.",
        "예를 들어 그렇다고 할 수 있습니다.",
        "네덜란드에 관한 문서입니다.",
        "{\"score\": 0.7}",
        "{}",
        "{\"a\": \"yes\", \"b\": \"no\"}",
        "not",
        "knows",
        "yesterday",
        "Norway",
        "it could be \"yes\" or \"no\"",
        "Relevant documents are missing here.",
        "<think>yes</think>",
        "null",
        "42",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn parses_utilities() {
    for (text, expected) in [
        ("4", Some(4)),
        ("5/5", Some(5)),
        ("**3**", Some(3)),
        ("Score: 2", Some(2)),
        ("[Utility:5]", Some(5)),
        ("{\"utility\": 1}", Some(1)),
        ("{\"score\": \"4\"}", Some(4)),
        ("4점", Some(4)),
        ("评分：3", Some(3)),
        ("I rate it 4 out of 5.", Some(4)),
        ("4 - it answers most of the 2 parts", Some(4)),
        ("5.", Some(5)),
        ("0", None),
        ("6", None),
        ("3.5", None),
        ("1-5", None),
        ("good", None),
        ("between 2 and 4", None),
        ("-4", None),
        ("{\"utility\": 9}", None),
    ] {
        assert_eq!(utility(text), expected, "{text}");
    }
}

#[test]
fn parses_degrees_of_support() {
    for (text, expected) in [
        ("[Fully supported]", Some(Support::Full)),
        ("{\"support\": \"fully\"}", Some(Support::Full)),
        ("yes", Some(Support::Full)),
        ("partially", Some(Support::Partial)),
        ("Not fully supported", Some(Support::Partial)),
        ("部分支持", Some(Support::Partial)),
        ("[No support / Contradictory]", Some(Support::No)),
        ("not supported", Some(Support::No)),
        ("No.", Some(Support::No)),
        ("不支持", Some(Support::No)),
        ("완전히 지지됨", Some(Support::Full)),
        ("근거 없음", Some(Support::No)),
        ("perhaps", None),
    ] {
        assert_eq!(support(text), expected, "{text}");
    }
}

#[test]
fn parses_retrieval_decisions() {
    for (text, expected) in [
        ("{\"decision\": \"yes\"}", Some(Retrieval::Yes)),
        ("Yes.", Some(Retrieval::Yes)),
        ("[Retrieval]", Some(Retrieval::Yes)),
        ("true", Some(Retrieval::Yes)),
        ("예", Some(Retrieval::Yes)),
        ("no", Some(Retrieval::No)),
        ("[No Retrieval]", Some(Retrieval::No)),
        ("いいえ。", Some(Retrieval::No)),
        ("Decision: no", Some(Retrieval::No)),
        ("{\"decision\":\"continue\"}", Some(Retrieval::Continue)),
        ("**CONTINUE**.", Some(Retrieval::Continue)),
        ("[Continue to Use Evidence]", Some(Retrieval::Continue)),
        ("continue, the passages say more.", Some(Retrieval::Continue)),
        ("계속", Some(Retrieval::Continue)),
        ("계속입니다.", Some(Retrieval::Continue)),
        ("継続", Some(Retrieval::Continue)),
        ("継続です。", Some(Retrieval::Continue)),
        ("继续", Some(Retrieval::Continue)),
        ("判断：繼續", Some(Retrieval::Continue)),
        ("<think>yes?</think>\ncontinue", Some(Retrieval::Continue)),
        ("yes or continue", None),
        ("no/continue", None),
        ("Continue reading the passages", None),
        ("discontinued", None),
        ("perhaps", None),
    ] {
        assert_eq!(retrieval(text), expected, "{text}");
    }
    // "continue" is not a binary verdict.
    assert_eq!((parse("continue"), parse("계속")), (None, None));
}

#[test]
fn parses_lists_of_verdicts_in_order() {
    use Verdict::{No, Yes};
    for (text, expected) in [
        (
            "{\"verdicts\": [{\"strip\": 1, \"verdict\": \"yes\"}, {\"strip\": 2, \"verdict\": \"no\"}]}",
            Some(vec![Some(Yes), Some(No)]),
        ),
        ("[\"yes\", \"no\"]", Some(vec![Some(Yes), Some(No)])),
        ("Here: ```json\n[true, false]\n```", Some(vec![Some(Yes), Some(No)])),
        (
            "{\"strip\": 1, \"verdict\": \"no\"}\n{\"strip\": 2, \"verdict\": \"Yes.\"}",
            Some(vec![Some(No), Some(Yes)]),
        ),
        ("1. yes\n2. no", Some(vec![Some(Yes), Some(No)])),
        (
            "The verdicts are:\n[1] No.\n[2] Yes, it names the year.",
            Some(vec![Some(No), Some(Yes)]),
        ),
        ("strip 1: 예\nstrip 2: 아니오", Some(vec![Some(Yes), Some(No)])),
        ("문단 1: 예\n문단 2: 아니오", Some(vec![Some(Yes), Some(No)])),
        ("断片1: いいえ\n断片2: はい", Some(vec![Some(No), Some(Yes)])),
        ("片段 2：是\n片段 1：否", None),
        ("yes\nno", Some(vec![Some(Yes), Some(No)])),
        ("yes, no", Some(vec![Some(Yes), Some(No)])),
        ("はい、いいえ", Some(vec![Some(Yes), Some(No)])),
        ("not relevant; relevant", Some(vec![Some(No), Some(Yes)])),
        ("1. yes\n2. perhaps", Some(vec![Some(Yes), None])),
        ("[\"yes\", \"hm\"]", Some(vec![Some(Yes), None])),
        ("{\"1\": \"yes\", \"2\": \"no\"}", Some(vec![Some(Yes), Some(No)])),
        (
            "```json\n{\"02\": \"no\", \"01\": true}\n```",
            Some(vec![Some(Yes), Some(No)]),
        ),
        (
            "{\"strip 1\": {\"verdict\": \"no\"}, \"strip 2\": \"hm\"}",
            Some(vec![Some(No), None]),
        ),
        ("{\"1\": \"yes\"}", None),
        ("{\"1\": \"yes\", \"3\": \"no\"}", None),
        ("{\"1\": \"yes\", \"2\": \"no\", \"why\": \"…\"}", None),
        ("1. yes", None),
        ("yes", None),
        ("[\"yes\", \"no\", \"no\"]", None),
        ("2. yes\n1. no", None),
        ("1. yes\n3. no", None),
        (
            "[{\"strip\": 2, \"verdict\": \"yes\"}, {\"strip\": 1, \"verdict\": \"no\"}]",
            None,
        ),
        (
            "[{\"passage\": 2, \"verdict\": \"yes\"}, {\"passage\": 1, \"verdict\": \"no\"}]",
            None,
        ),
        ("", None),
    ] {
        assert_eq!(list(text, 2), expected, "{text}");
    }
    for (text, expected) in [
        ("yes", Some(vec![Some(Yes)])),
        ("[1] no", Some(vec![Some(No)])),
        ("{\"1\": \"no\"}", Some(vec![Some(No)])),
        ("{\n \"binary_score\": \"no\"\n}", Some(vec![Some(No)])),
        ("Relevant", Some(vec![Some(Yes)])),
        ("perhaps", Some(vec![None])),
        ("yes, no", None),
    ] {
        assert_eq!(list(text, 1), expected, "{text}");
    }
}

fn place(token: &str, top: &[(&str, f64)]) -> TokenLogprobs {
    let top = top
        .iter()
        .map(|(token, p)| ((*token).to_owned(), f64::ln(*p)))
        .collect();
    TokenLogprobs {
        token: token.to_owned(),
        logprob: -0.1,
        top,
    }
}

#[test]
fn scores_come_from_the_token_of_the_verdict() {
    let tokens = [
        place("{\"", &[("{\"", 0.99)]),
        place(" Yes", &[(" Yes", 0.6), ("no", 0.2), ("maybe", 0.2)]),
    ];
    assert!((probability(&tokens).unwrap() - 0.75).abs() < 1e-9);
    assert_eq!(probability(&tokens[..1]), None);
    let support = [place("fully", &[("fully", 0.5), ("partially", 0.5)])];
    assert!((support_score(&support).unwrap() - 0.75).abs() < 1e-9);
    assert_eq!(
        support_probabilities(&support).map(|(full, _)| (full * 1e9).round()),
        Some(5e8)
    );
    let list = [
        tokens[1].clone(),
        place(",", &[(",", 1.0)]),
        place("no", &[("no", 0.9), ("yes", 0.1)]),
    ];
    let found = probabilities(&list, 2).unwrap();
    assert!(
        (found[0] - 0.75).abs() < 1e-9 && (found[1] - 0.1).abs() < 1e-9,
        "{found:?}"
    );
    assert_eq!(probabilities(&list, 3), None);
    let retrieval = [place(
        "no",
        &[("no", 0.3), ("yes", 0.2), ("continue", 0.4), ("maybe", 0.1)],
    )];
    let (yes, more) = retrieval_probabilities(&retrieval).unwrap();
    assert!(
        (yes - 0.2 / 0.9).abs() < 1e-9 && (more - 0.4 / 0.9).abs() < 1e-9,
        "{yes} {more}"
    );
    let utility = [place("4", &[("4", 0.5), ("5", 0.5)])];
    assert!((utility_score(&utility).unwrap() - 0.75).abs() < 1e-9);
}

proptest! {
    #[test]
    fn formatting_does_not_matter(yes in any::<bool>(), upper in any::<bool>(), before in "[ \\n*\"'`(]{0,4}", after in "[ \\n*\"'`.!)。！]{0,4}") {
        let word = if yes { "yes" } else { "no" };
        let word = if upper { word.to_uppercase() } else { word.to_owned() };
        let expected = if yes { Verdict::Yes } else { Verdict::No };
        prop_assert_eq!(parse(&format!("{before}{word}{after}")), Some(expected));
    }

    #[test]
    fn the_score_of_an_object_decides_and_not_its_reason(yes in any::<bool>(), reason in "[a-z 가-힣]{0,30}") {
        let value = serde_json::json!({ "reason": reason, "binary_score": if yes { "yes" } else { "no" } });
        prop_assert_eq!(parse(&value.to_string()).map(Verdict::is_yes), Some(yes));
    }

    #[test]
    fn a_longer_word_is_not_a_verdict(word in "(yes|no)[a-z]{3,8}") {
        prop_assert_eq!(parse(&word), None);
    }
}
