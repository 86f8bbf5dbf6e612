use super::*;

fn of(cut: Cut, text: &str) -> Vec<&str> {
    cut.ranges(text).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn strips_are_cut_by_unit_and_size() {
    let text = " One is here. Two (so) is! Three, \"four\" five.\n";
    for (cut, expected) in [
        (
            Cut::Sentences(2),
            vec!["One is here. Two (so) is!", "Three, \"four\" five."],
        ),
        (Cut::Sentences(100), vec![text.trim()]),
        (
            Cut::Words(3),
            vec!["One is here.", "Two (so) is!", "Three, \"four\" five."],
        ),
        (
            Cut::Words(4),
            vec!["One is here. Two", "(so) is! Three, \"four\"", "five."],
        ),
        (Cut::Whole, vec![text]),
    ] {
        assert_eq!(of(cut, text), expected, "{cut:?}");
    }
    for cut in [Cut::Sentences(1), Cut::Words(1), Cut::Whole] {
        assert_eq!(of(cut, " \n"), Vec::<&str>::new());
        assert_eq!(of(cut, "…"), ["…"], "{cut:?}");
    }
}

#[test]
fn words_are_found_where_there_are_no_spaces() {
    assert_eq!(
        of(Cut::Words(2), "東京「タワー」は、高い。"),
        ["東京", "「タワー」は、", "高い。"]
    );
    assert_eq!(
        of(Cut::Words(2), "등대는 31미터이다. 빨갛다!"),
        ["등대는 31미터이다.", "빨갛다!"]
    );
    assert_eq!(of(Cut::Words(3), "塔高31米。"), ["塔高31", "米。"]);
}

#[test]
fn nothing_but_white_space_is_lost() {
    let text = "¿Qué? (Uno) dos… “tres”, 四、五。\t여섯 일곱 — 8.5 and e.g. nine; ";
    for size in 1..12 {
        for cut in [Cut::Words(size), Cut::Sentences(size)] {
            let kept: String = of(cut, text).concat();
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(plain(&kept), plain(text), "{cut:?}");
        }
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    assert_eq!(Cut::of(StripUnit::Unspecified, None), Cut::Sentences(3));
    assert_eq!(Cut::of(StripUnit::Sentences, Some(7)), Cut::Sentences(7));
    assert_eq!(Cut::of(StripUnit::Words, None), Cut::Words(50));
    assert_eq!(Cut::of(StripUnit::Passage, Some(7)), Cut::Whole);
}
