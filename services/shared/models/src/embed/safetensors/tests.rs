use proptest::prelude::*;

use super::*;

const SHAPE: Shape = Shape {
    heads: 2,
    epsilon: 1e-12,
    skipped_positions: 0,
};

fn error(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read(file.path(), &SHAPE).err().unwrap().to_string()
}

#[test]
fn a_header_longer_than_any_models_is_refused_before_it_is_read() {
    let long = error(&[(MAX_HEADER + 1).to_le_bytes().as_slice(), b"{}"].concat());
    assert!(long.contains("its header has"), "{long}");
    let cut = error(b"1234");
    assert!(cut.contains("header"), "{cut}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_end_it_otherwise(
        header in r#"\{("a":\{"dtype":"F32","shape":\[[0-9]{1,3},[0-9]{1,20}\],"data_offsets":\[0,[0-9]{1,20}\]\})?\}"#,
        data in prop::collection::vec(any::<u8>(), 0..64),
        says_length in any::<bool>(),
    ) {
        let length = if says_length { header.len() as u64 } else { data.len() as u64 };
        error(&[length.to_le_bytes().as_slice(), header.as_bytes(), &data].concat());
    }
}
