use super::*;

#[test]
fn a_page_is_asked_for_in_the_query() {
    let asked = page("handbook".to_owned(), "pageSize=10&pageToken=a%2Fb").unwrap();
    assert_eq!((asked.page_size, asked.page_token.as_str()), (Some(10), "a/b"));
    assert_eq!(asked.collection, "handbook");
    for (wrong, field) in [("pageSize=many", "pageSize"), ("limit=10", "limit")] {
        assert_eq!(page(String::new(), wrong).unwrap_err().errors[0].field, field);
    }
}
