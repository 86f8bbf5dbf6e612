use super::*;

fn cosines() -> Cosines {
    let near = late::TokenSimilarity {
        mean: 0.8,
        low: 0.7,
        least: 0.6,
        even: 0.75,
        tail: 0.5,
    };
    let late = Late {
        passage: near,
        sentences: vec![near; 2],
        pair: 0.8,
        with_before: vec![0.7; 2],
    };
    Cosines {
        passage: 0.8,
        sentences: vec![0.7, 0.9],
        late: Some(late),
    }
}

fn named(features: Features) -> Vec<&'static str> {
    features.into_pairs().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn code_and_lists_agree_on_the_names() {
    let question = Question::new("When did the mill close?");
    let passage = View::new("The mill was built in 1850. It closed in 1902.");
    let cosines = cosines();
    assert_eq!(named(relevance(&question, &passage, Some(&cosines))), RELEVANCE);
    assert_eq!(named(usefulness(&question, &passage, Some(&cosines))), USEFULNESS);
    assert_eq!(
        named(groundedness(&passage, &passage, Some(&cosines), Some(&question))),
        GROUNDEDNESS
    );
    let sentences = answer_sentences(&question, &passage, Some(&cosines));
    assert_eq!(sentences.len(), 2);
    assert_eq!(named(sentences[0].clone()), ANSWER);
}

#[test]
fn without_an_embedder_there_are_only_lexical_features() {
    let question = Question::new("When did the mill close?");
    let passage = View::new("It closed in 1902.");
    let names = named(relevance(&question, &passage, None));
    assert!(names.iter().all(|name| !name.starts_with("cosine")) && names.len() + 13 == RELEVANCE.len());
}

#[test]
fn features_are_finite_for_any_text() {
    for (left, right) in [
        ("", ""),
        ("?", "..."),
        ("When?", ""),
        ("", "The mill closed."),
        ("水", "水。"),
    ] {
        let question = Question::new(left);
        let view = View::new(right);
        let cosines = Cosines {
            passage: 0.0,
            sentences: vec![0.0; view.sentences.len()],
            late: None,
        };
        let mut all = relevance(&question, &view, Some(&cosines)).into_pairs();
        all.extend(usefulness(&question, &view, Some(&cosines)).into_pairs());
        all.extend(groundedness(&View::new(left), &view, Some(&cosines), Some(&question)).into_pairs());
        all.extend(
            answer_sentences(&question, &view, Some(&cosines))
                .into_iter()
                .flat_map(Features::into_pairs),
        );
        for (name, value) in all {
            assert!(value.is_finite(), "{name} of {left:?} and {right:?}");
        }
    }
}

#[test]
fn groups_go_by_script() {
    assert_eq!(Group::of("When?", "It closed."), Group::Alphabet);
    assert_eq!(Group::of("언제 닫았나요?", "방앗간은 1902년에 닫았다."), Group::Cjk);
    assert_eq!(Group::of("When?", "방앗간은 1902년에 닫았다."), Group::Cross);
    assert_eq!(
        Group::of("Kubernetes란 무엇인가요?", "쿠버네티스는 도구이다."),
        Group::Cjk
    );
    assert_eq!(Group::of_fragment("iPhone 4", "何が売れましたか"), Group::Cjk);
    assert_eq!(Group::of_fragment("제주", "Which island is it?"), Group::Cross);
    assert_eq!(Group::of_fragment("1902", "When did it close?"), Group::Alphabet);
}

#[test]
fn quotes_and_fragments_are_detected() {
    let evidence = View::new("The mill of Ada Miller closed in 1902, after a fire.");
    assert!(is_quoted(
        &View::new("the mill of Ada Miller closed in 1902"),
        &evidence
    ));
    let marked = View::new("Ask early. **Leave** is approved by [the team lead](https://x.example/leads).");
    assert!(is_quoted(&View::new("Leave is approved by the team lead."), &marked));
    assert!(!is_quoted(&View::new("The mill closed in 1902"), &evidence));
    let list = View::new("- Ada Miller\n- The mill");
    assert!(is_whole_sentence(&View::new("Ada Miller"), &list));
    assert!(!is_whole_sentence(&View::new("Miller"), &list) && !is_whole_sentence(&View::new(""), &list));
    assert!(is_fragment(&View::new("1902")) && is_fragment(&View::new("五一勞動節")));
    assert!(!is_fragment(&evidence));
}

#[test]
fn a_short_sentence_is_not_a_bare_answer() {
    let question = Question::new("휴가는 누가 승인하나요?");
    for (answer, bare) in [
        ("팀장", true),
        ("휴가는 팀장이 승인한다.", false),
        ("휴가는 팀장이 승인하나", false),
    ] {
        assert_eq!(is_bare(&question, &View::new(answer)), bare, "{answer}");
    }
    let question = Question::new("Who approves leave?");
    assert!(is_bare(&question, &View::new("Ada Miller")));
    assert!(!is_bare(&question, &View::new("Ada approves leave")));
}

#[test]
fn a_text_has_so_many_sentences_and_the_last_holds_the_rest() {
    let text = "One line.\n\n".repeat(MAX_VIEW_SENTENCES + 10);
    let view = View::new(&text);
    assert_eq!(view.sentences.len(), MAX_VIEW_SENTENCES);
    let last = view.sentence(MAX_VIEW_SENTENCES - 1);
    assert_eq!(last.matches("One line.").count(), 11);
}

#[test]
fn what_title_and_headings_say_need_not_be_said_again_below_them() {
    let asks = Question::new("What is the default port of Kestrel?");
    let text = "The default port is 7420. Kestrel stores its data in one folder.";
    let of = |title| {
        let passage = View::of_passage(crate::PassageText { title, ..text.into() });
        answer_sentences(&asks, &passage, None)
    };
    let value = |features: &Features, name| features.get(name).unwrap();
    let titled = of("Kestrel");
    assert_eq!(value(&titled[0], "overlap_rest"), 1.0);
    assert_eq!(value(&titled[0], "names_rest"), 1.0);
    assert_eq!(value(&titled[0], "first_place"), 0.2);
    assert!(value(&titled[0], "overlap_high") > value(&titled[1], "overlap_high"));
    assert_eq!(value(&titled[1], "overlap_rest"), 0.0);
    assert_eq!(value(&titled[1], "overlap_rest_behind"), 1.0);
    let untitled = of("Notes");
    assert!(value(&untitled[0], "overlap_rest") < 1.0);
    assert_eq!(value(&untitled[0], "names_rest"), 0.0);

    let asks = Question::new("Who approves leave?");
    let restates = |title, text: &str| {
        let passage = View::of_passage(crate::PassageText { title, ..text.into() });
        restates_question(&asks, &answer_sentences(&asks, &passage, None)[0])
    };
    assert!(restates("Leave", "The team lead approves it within three days."));
    assert!(!restates("Parking", "The team lead approves it within three days."));
    // A line that is no sentence has the words and says nothing; a row of a table says it.
    assert!(!restates("Leave", "\"title\": \"The team lead approves leave\","));
    let row = "| who | what |\n| --- | --- |\n| The team lead | approves leave |";
    let passage = View::of_passage(crate::PassageText {
        title: "Leave",
        ..row.into()
    });
    let rows = answer_sentences(&asks, &passage, None);
    assert!(restates_question(&asks, &rows[1]), "{rows:?}");
    assert!(!restates("Who approves leave", "Every employee has 25 days of it."));
    // That something is so says neither how nor why.
    let sentence = View::new("The charger is reset by the dealer in the main town.");
    for (question, says) in [
        ("Who can reset the charger?", false),
        ("Is the charger reset?", true),
        ("How is the charger reset?", false),
        ("Why is the charger reset?", false),
    ] {
        let asks = Question::new(question);
        let found = restates_question(&asks, &answer_sentences(&asks, &sentence, None)[0]);
        assert_eq!(found, says, "{question}");
    }
}

#[test]
fn lines_for_machines_are_told_from_prose() {
    for line in [
        "\"title\": \"Walks that a limit ended\",",
        "apiVersion: policy/v1 {{- include \"selector\" . }}",
        "}, {",
        "function stream(client) {",
        "*/ async function stream(client): Promise<Walk> { const request = of(client)",
        "return count;",
    ] {
        assert!(is_markup(line), "{line}");
    }
    for prose in [
        "\"Why not?\" he asked: nobody knew.",
        "Dinner: 38 euros, receipt needed: yes.",
        "port: 50051",
        "It takes {name} for a name.",
    ] {
        assert!(!is_markup(prose), "{prose}");
    }
}

#[test]
fn rows_lists_and_code_are_seen() {
    let asks = Question::new("How do I restart the broker?");
    let text = "Things to know.\n\n- Run `systemctl restart broker`.\n\n2. Wait for it.\n\n| host | port |\n| --- | --- |\n| a | 1 |\n";
    let passage = View::new(text);
    let features = answer_sentences(&asks, &passage, None);
    let flags = |name| -> Vec<&str> {
        let marked = features
            .iter()
            .enumerate()
            .filter(|(_, own)| own.get(name) == Some(1.0));
        marked.map(|(index, _)| passage.sentence(index)).collect()
    };
    assert_eq!(flags("has_code"), ["- Run `systemctl restart broker`."]);
    assert_eq!(flags("asks_how_code"), flags("has_code"));
    assert_eq!(
        flags("is_item"),
        ["- Run `systemctl restart broker`.", "2. Wait for it."]
    );
    assert_eq!(flags("asks_how_item"), flags("is_item"));
    assert_eq!(flags("is_row"), ["host: a; port: 1"]);
}
