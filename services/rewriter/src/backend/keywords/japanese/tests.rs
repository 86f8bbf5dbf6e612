use super::*;

#[test]
fn function_words_are_removed() {
    for (run, expected) in [
        ("富士山の高さはどのくらいですか", vec!["富士山", "高"]),
        ("りんごはどこで作られますか", vec!["りんご", "作"]),
        ("誰がスマートフォンを発明しましたか", vec!["スマートフォン", "発明"]),
        ("それについて教えてください", vec![]),
    ] {
        assert_eq!(content(run), expected, "{run}");
    }
}
