use super::*;

#[test]
fn the_folder_and_the_file_name_a_document() {
    for (source, name) in [
        ("/home/me/crates/base64-0.22.1/README.md", "base64-0.22.1 README 0.22"),
        ("handbook.pdf", "handbook"),
        ("C:\\docs\\Preise 2024.csv", "docs Preise 2024"),
        ("https://example.org/guide/leave.html?lang=en#top", "guide leave"),
        ("https://example.org/", "example.org"),
        ("https://example.org?page=2", "example.org"),
        ("https://example.org/guide", "guide"),
        ("notes/.profile", "notes .profile"),
        ("規程/就業規則_2026年度.md", "規程 就業規則_2026年度"),
        ("release/1.2.3", "release 1.2.3 1.2"),
        ("A handbook", "A handbook"),
        ("code/C# or F#?.md", "code C# or F#?"),
        ("", ""),
        ("///", ""),
    ] {
        assert_eq!(source_name(source), name, "{source}");
    }
}

#[test]
fn of_a_long_source_the_end_is_read() {
    let long = format!("{}é/guide.txt", "x".repeat(4 * MAX_BYTES));
    let name = source_name(&long);
    assert!(name.len() <= MAX_BYTES && name.ends_with("é guide"), "{name}");
    let dots = ".".repeat(MAX_BYTES);
    assert!(source_name(&dots).len() <= MAX_BYTES);
}
