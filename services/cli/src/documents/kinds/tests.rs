use super::*;

#[test]
fn a_summary_counts_by_kind() {
    let skipped = |name: &str| Skipped {
        kind: FileKind::of(Path::new(name)),
        source: format!("/docs/{name}"),
        reason: String::new(),
    };
    let files = ["a.png", "b.JPG", "c.jpg", "d.zip", "e", "f.xyz", "g.mp3"].map(skipped);
    assert_eq!(
        summary(&files),
        "3 images (.jpg, .png), 1 archive (.zip), 1 sound file (.mp3), 2 other files (.xyz)"
    );
    let many: Vec<_> = "abcdefgh".chars().map(|c| skipped(&format!("x.{c}{c}"))).collect();
    assert_eq!(summary(&many), "8 other files (.aa, .bb, .cc, .dd, .ee, .ff, …)");
    assert_eq!(summary(&[]), "");
}
