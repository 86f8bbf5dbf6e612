use super::*;

#[test]
fn hashes_are_valid_and_every_model_has_a_source() {
    let hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    for form in MODELS.iter().flat_map(|model| model.forms) {
        assert!(!form.sources.is_empty());
        assert!(form.files.iter().all(|file| hash(file.sha256) && file.bytes > 0));
        for source in form.sources {
            match source {
                Source::Package {
                    sha256, requirement, ..
                } => assert!(hash(sha256) && requirement.contains("==")),
                Source::Hub { repo, revision } => {
                    let is_commit = revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit());
                    assert!(is_commit, "{repo} is not pinned to a commit");
                }
            }
        }
    }
}
