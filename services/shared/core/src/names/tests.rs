use super::*;

#[test]
fn a_few_names_are_listed_whole() {
    assert_eq!(list_names(["handbook"]), "handbook");
    assert_eq!(list_names(["handbook", "wiki"]), "handbook, wiki");
    assert_eq!(list_names(Vec::<String>::new()), "");
}

#[test]
fn many_names_and_long_ones_are_counted() {
    let many: Vec<_> = (0..150).map(|number| format!("n{number}")).collect();
    let list = list_names(&many);
    assert!(
        list.starts_with("n0, n1, ") && list.ends_with(", n19 and 130 more"),
        "{list}"
    );
    let long: Vec<_> = (0..150).map(|_| "n".repeat(200)).collect();
    let list = list_names(&long);
    assert!(list.len() < 600 && list.ends_with(" and 148 more"), "{list}");
}
