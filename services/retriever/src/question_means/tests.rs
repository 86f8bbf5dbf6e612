use super::*;

const QUESTIONS: [(&str, &str); 6] = [
    ("en", "How many days of leave are there?"),
    ("ko", "휴가는 며칠인가요?"),
    ("ja", "休暇は何日ありますか？"),
    ("zh", "一年有多少天假期？"),
    ("zh", "一年有多少天假期呢，這裡？"),
    ("en", "Wie viele Tage Urlaub gibt es im Jahr für jeden?"),
];

fn norm(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[test]
fn there_is_a_mean_of_each_language_for_the_default_embedder_alone() {
    let means = QuestionMeans::of("multilingual-e5-small").unwrap();
    let codes: Vec<&str> = means.0.iter().map(|(language, _)| language.code()).collect();
    assert_eq!(codes, ["en", "ko", "ja", "zh"]);
    for (language, mean) in &means.0 {
        assert_eq!(mean.len(), 384, "{}", language.code());
        // Of vectors of length 1 that have much in common.
        assert!((0.7..1.0).contains(&norm(mean)), "{}: {}", language.code(), norm(mean));
    }
    assert!(QuestionMeans::of("all-MiniLM-L6-v2").is_none());
}

#[test]
fn half_of_the_mean_of_its_language_is_taken_off_a_question() {
    let means = QuestionMeans::read("en 1 0 0\nko 0 1 0\nja 0 0 1\nzh 0.5 0.5 0\n");
    let given: Embedding = Arc::from([0.6, 0.8, 0.0]);
    for (code, question) in QUESTIONS {
        let mean = &means.0.iter().find(|(language, _)| language.code() == code).unwrap().1;
        let taken = means.take_off(question, Arc::clone(&given));
        assert!((norm(&taken) - 1.0).abs() < 1e-6, "{question}");
        let rest: Vec<f32> = given.iter().zip(mean).map(|(own, mean)| own - mean / 2.0).collect();
        let length = norm(&rest);
        let difference = taken
            .iter()
            .zip(&rest)
            .map(|(taken, rest)| (taken - rest / length).abs());
        assert!(difference.sum::<f32>() < 1e-5, "{question}: {taken:?}");
    }
}

#[test]
fn a_question_without_a_known_mean_stays_as_it_is() {
    let means = QuestionMeans::read("en 1 0 0\n");
    let given: Embedding = Arc::from([0.6, 0.8, 0.0]);
    for question in ["휴가는 며칠인가요?", "Сколько дней отпуска есть в году?"] {
        assert_eq!(means.take_off(question, Arc::clone(&given)), given, "{question}");
    }
    let other: Embedding = Arc::from([0.6, 0.8]);
    assert_eq!(
        means.take_off("How many days?", Arc::clone(&other)),
        other,
        "other dimensions"
    );
    let same: Embedding = Arc::from([0.5, 0.0, 0.0]);
    assert_eq!(
        means.take_off("How many days?", Arc::clone(&same)),
        same,
        "nothing would be left"
    );
}
