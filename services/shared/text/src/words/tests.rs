use super::*;

#[test]
fn inflections_have_one_stem() {
    for forms in [
        &["create", "creates", "created", "creating"][..],
        &["country", "countries"],
        &["stop", "stopped", "stops"],
        &["boiler", "boilers", "Boiler"],
        &["ＡＢＣ", "abc"],
    ] {
        let stems: HashSet<Vec<String>> = forms.iter().map(|form| words(form)).collect();
        assert_eq!(stems.len(), 1, "{forms:?} → {stems:?}");
    }
    assert_ne!(words("universe"), words("university"));
}

#[test]
fn each_script_has_its_own_tokenization() {
    assert_eq!(words("東京都 3,500.5円"), ["東京", "京都", "3500.5", "円"]);
    assert_eq!(words("비가 온다"), ["비가", "온다"]);
    assert_eq!(words("It's Bob's, don't"), ["it", "bob", "don"]);
    assert_eq!(words(" ,.!"), Vec::<String>::new());
}

#[test]
fn content_words_exclude_stop_words() {
    assert_eq!(content_words("When was the boiler installed?"), ["boiler", "install"]);
    assert_eq!(content_words("the of"), ["the", "of"]);
    assert!(!content_words("首都是什么").contains(&"什么".to_owned()));
}

#[test]
fn numbers_and_names_are_found() {
    assert_eq!(
        numbers("In 1999, two of 1,250 were ２.5 m; one was not."),
        ["1999", "2", "1250", "2.5"]
    );
    assert_eq!(
        names("The river Rhine flows past Basel. Many like IBM there."),
        ["rhine", "basel", "ibm"]
    );
    assert_eq!(names("東京タワーはNHKが使う"), ["タワー", "nhk"]);
}

#[test]
fn rare_words_weigh_more() {
    assert!(rarity("the") < rarity("people") && rarity("people") < rarity("photosynthesi"));
    assert!(rarity("した") < rarity("東京"));
}

#[test]
fn stop_words_are_those_of_the_language() {
    for (text, content) in [
        ("Wer weist mich an der Drehbank ein?", "weist drehbank"),
        ("Où garde-t-on les bouteilles de gaz à Lyon ?", "gard bouteill gaz lyon"),
        ("¿Dónde está la oficina de Madrid?", "oficina madrid"),
        ("Who approves the travel costs?", "approv travel cost"),
    ] {
        assert_eq!(content_words(text).join(" "), content, "{text}");
    }
}

#[test]
fn a_capital_makes_no_name_of_a_german_noun() {
    assert_eq!(names("Wo ist die Anleitung für den Autoklaven und das LIMS?"), ["lims"]);
    assert_eq!(names("Where is the manual of Autoclave Four?"), ["autoclave", "four"]);
    assert!(names("Quelle est la durée du contrat ?").is_empty());
}
