use super::*;

const THRESHOLDS: &str = "[thresholds]\nrelevant = 0.5\nlower = 0.3\nupper = 0.7\nfully = 0.6\npartially = 0.4\nuseful = 0.5\nquote = 0.5\nstrip = 0.3\nanswers = 0.3\n";

fn file(relevance: &str) -> String {
    let others = [
        "answer",
        "groundedness",
        "groundedness_fragment",
        "usefulness",
        "usefulness_fragment",
    ]
    .map(|task| format!("[{task}.alphabet]\nbias = 0.0\nfeatures = {{}}\n"))
    .join("");
    format!("{THRESHOLDS}{others}[relevance.alphabet]\n{relevance}\n")
}

#[test]
fn built_in_files_are_valid_and_unknown_embedders_get_words_only() {
    for (name, _) in BUILTIN {
        assert_eq!(Coefficients::builtin(name).unwrap().name(), name);
    }
    let unknown = Coefficients::builtin("hashed-256").unwrap();
    assert_eq!(unknown.name(), "lexical");
    for task in Task::ALL {
        for group in [Group::Alphabet, Group::Cjk, Group::Cross] {
            assert!(!unknown.needs_cosines(task, group));
        }
    }
    assert!(
        Coefficients::builtin("multilingual-e5-small")
            .unwrap()
            .needs_cosines(Task::Relevance, Group::Cjk)
    );
}

#[test]
fn a_probability_is_logistic() {
    let source = file("bias = 0.5\nfeatures = { names_in_sentence = { weight = 2.0, mean = 0.5, scale = 0.25 } }");
    let coefficients = Coefficients::parse("test", &source).unwrap();
    let question = features::Question::new("boiler age");
    let features = features::relevance(&question, &features::View::new("boiler"), None);
    // No name is missing, so the share is 1.
    let expected = 1.0 / (1.0 + f64::exp(-4.5));
    assert!((coefficients.probability(Task::Relevance, Group::Alphabet, &features) - expected).abs() < 1e-9);
    assert!((coefficients.probability(Task::Relevance, Group::Cross, &features) - expected).abs() < 1e-9);
}

#[test]
fn invalid_files_are_rejected_with_the_valid_names() {
    for (source, words) in [
        (
            file("bias = 0.0\nfeatures = { overlapp = { weight = 1.0, mean = 0.0, scale = 1.0 } }"),
            "overlap_weighted",
        ),
        (
            file("bias = 0.0\nfeatures = { sentence_overlap = { weight = 1.0, mean = 0.0, scale = 0.0 } }"),
            "scale above 0",
        ),
        (
            file("bias = 0.0\nfeatures = {}").replace("[relevance.alphabet]", "[relevance.latin]"),
            "known: alphabet, cjk, cross",
        ),
        (
            file("bias = 0.0\nfeatures = {}").replace("[relevance.", "[relevant."),
            "known: relevance",
        ),
        (
            file("bias = 0.0\nfeatures = {}").replace("[answer.alphabet]", "[answer.cjk]"),
            "answer.alphabet is missing",
        ),
        (
            file("bias = 0.0\nfeatures = {}").replace("lower = 0.3", "lower = 0.9"),
            "lower is 0.9, above upper",
        ),
        (
            file("bias = 0.0\nfeatures = {}").replace("useful = 0.5", "useful = 5"),
            "useful is 5",
        ),
        (file("bias = 0.0\nfeatures = {}").replace("strip = 0.3\n", ""), "strip"),
    ] {
        let error = Coefficients::parse("test", &source).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(
        Coefficients::read(Path::new("/nonexistent.toml")).unwrap_err().code(),
        "read"
    );
}
