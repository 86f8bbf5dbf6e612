use super::*;

fn form(question: &str, answer: &str) -> (f64, f64, f64) {
    let form = Form::new(&Question::new(question), &View::new(answer));
    (form.unit, form.class, form.repeats)
}

#[test]
fn a_number_has_the_unit_asked_for_or_not() {
    for (question, answer, unit) in [
        ("他出生於哪一年?", "1892年", 1.0),
        ("水深多少米？", "2391平方公里", -1.0),
        ("面积有多少平方公里？", "2391平方公里", 1.0),
        ("有多少人？", "很多", -0.5),
        ("有几个塔？", "七個", 1.0),
        ("有多少美元?", "731", 0.0),
        ("党員は何人か", "約３人", 1.0),
        ("これは何ですか", "3人", 0.0),
        ("인구는 몇 명인가?", "300명", 1.0),
        ("How many mills are there?", "three", 0.0),
    ] {
        assert_eq!(form(question, answer).0, unit, "{question} / {answer}");
    }
}

#[test]
fn a_name_ends_as_its_class_does() {
    assert_eq!(form("他們簽了什麼條約?", "華盛頓條約").1, 1.0);
    assert_eq!(form("哪一个组织反对？", "联合国").1, 0.0);
    assert_eq!(form("どの川が長いですか", "利根川").1, 1.0);
    assert_eq!(form("어느 도시인가?", "제주시").1, 1.0);
    assert_eq!(form("Which river is it?", "the Rhine").1, 0.0);
}

#[test]
fn repeating_the_question_is_not_an_answer() {
    assert_eq!(form("《論自由》的作者是誰?", "論自由").2, 1.0);
    assert_eq!(form("Who closed the old mill?", "The old Mill.").2, 1.0);
    assert_eq!(form("Who closed the mill?", "Ada").2, 0.0);
    assert_eq!(form("Who?", "...").2, 0.0);
}
