use super::*;

#[test]
fn hashes_are_valid_and_every_model_has_a_source() {
    let hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    for form in MODELS.iter().flat_map(|model| model.forms) {
        assert!(!form.sources.is_empty());
        assert!(form.files.iter().filter_map(|file| file.sha256).all(hash));
        for source in form.sources {
            if let Source::Package {
                sha256, requirement, ..
            } = source
            {
                assert!(hash(sha256) && requirement.contains("=="));
                assert!(
                    form.files.iter().all(|file| file.sha256.is_some()),
                    "{requirement} has a file without a hash"
                );
            }
        }
    }
}
