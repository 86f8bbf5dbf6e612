use super::*;

#[test]
fn without_a_program_nothing_is_started() {
    assert!(!is_available());
    let refused = read("a.pdf", Format::Pdf, b"", Bounds::new(&|| false)).unwrap_err();
    assert!(refused.to_string().contains("its reader is unknown"), "{refused}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_process_is_told() {
    assert!(resident(std::process::id()).unwrap() > 1 << 20);
    assert_eq!(resident(u32::MAX), None);
}
