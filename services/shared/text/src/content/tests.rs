use super::*;

#[test]
fn marks_and_names_alone_say_nothing() {
    for piece in [
        "",
        "## Details",
        "# A\n\n## The history of the long and winding road\n",
        "[docs]: https://docs.example/x\n[license]: ./LICENSE \"The licence of it all\"\n",
        "[![Build status of the main branch](https://x/badge.svg)](https://x)\n[![b](https://x/b.svg)](https://y)",
        "https://example.org/a/long/path/of/words\n\n---\n",
        "- [Getting started](a.md)\n- [How to install it](b.md)\n- [Questions and answers](c.md)\n- [About](d.md)",
        "| --- | --- |",
        "* * *\n\n***",
    ] {
        assert!(!has_content(piece), "{piece:?}");
    }
}

#[test]
fn sentences_tables_code_and_described_links_are_content() {
    for piece in [
        "The ferry leaves at seven.",
        "## Fuel\n\nOpen from 8 to 16.",
        "| Meal | Limit |\n| --- | --- |\n| Dinner | €38 |",
        "```sh\ncargo install emend --locked\n```",
        "- [Install](a.md): what to do on a new machine\n- [Use](b.md): the first question\n- [Tune](c.md): the options",
        "See [the guide](a.md) before you ask for help.",
        "휴가는 팀장이 승인한다.",
        "休暇は上司が承認する。",
    ] {
        assert!(has_content(piece), "{piece:?}");
    }
}
