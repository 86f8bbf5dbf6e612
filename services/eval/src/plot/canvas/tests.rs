use super::*;

#[test]
fn a_legend_takes_the_lines_that_it_needs() {
    let long = "x".repeat(40);
    let names = [(long.as_str(), 0), (long.as_str(), 1), ("short", 2)];
    let lines: Vec<_> = places(&names).iter().map(|(_, y)| *y / LINE).collect();
    assert_eq!(lines, [0, 1, 1]);
    assert_eq!(legend_height(&names) - legend_height(&[]), 2 * LINE);
}

#[test]
fn colours_are_those_of_the_page() {
    let about = About {
        id: "c",
        title: "t".to_owned(),
        description: "d".to_owned(),
    };
    // A name that looks like a colour stays a name.
    let drawn = svg(&about, &[("\"#0072B2\"", 0), ("b", 9)], 10, |_| Ok(Vec::new())).unwrap();
    assert!(
        drawn.contains("fill=\"var(--c0)\"") && drawn.contains("fill=\"var(--c1)\""),
        "{drawn}"
    );
    assert!(
        drawn.contains("fill=\"currentColor\"") && drawn.contains("&quot;#0072B2&quot;"),
        "{drawn}"
    );
    assert_eq!(drawn.matches("<svg").count(), 1);
    assert!(!drawn.contains("://") && drawn.ends_with("</svg>"), "{drawn}");
}
