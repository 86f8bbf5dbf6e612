use super::*;

#[test]
fn a_page_is_asked_for_in_the_query() {
    let asked = page("pageSize=10&pageToken=a%2Fb", false).unwrap();
    assert_eq!((asked.size, asked.token.as_str()), (Some(10), "a/b"));
    assert_eq!(page("parents=false", true).unwrap().parents, Some(false));
    for (wrong, of_document, field) in [
        ("pageSize=many", false, "pageSize"),
        ("limit=10", false, "limit"),
        ("parents=true", false, "parents"),
        ("parents=maybe", true, "parents"),
    ] {
        assert_eq!(page(wrong, of_document).unwrap_err().errors[0].field, field, "{wrong}");
    }
}
