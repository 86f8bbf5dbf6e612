use super::*;

#[test]
fn the_oldest_walks_make_room() {
    let walks = Walks::new();
    let first = walks.keep(Walk::default());
    for _ in 0..MAX_WALKS {
        walks.keep(Walk::default());
    }
    assert!(walks.get(first).is_none());
    assert_eq!(walks.latest().len(), MAX_WALKS);

    let large = Walk {
        account: "x".repeat(MAX_BYTES / 2 + 1),
        ..Walk::default()
    };
    let (one, two) = (walks.keep(large.clone()), walks.keep(large));
    assert!(walks.get(one).is_none() && walks.get(two).is_some());
    assert_eq!(walks.latest().len(), 1);
}

#[test]
fn a_uri_is_read_back() {
    let walk = Uuid::new_v4();
    assert_eq!(parse(&uri(walk, 3)), Some((walk, 3)));
    for wrong in ["emend://walks/1/passages/3", "emend://walks/", "file:///etc/passwd", ""] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}
