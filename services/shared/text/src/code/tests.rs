use super::*;

/// The blocks of a text, whole and without their fences.
fn of(text: &str) -> Vec<(&str, &str)> {
    let blocks = code_blocks(text).into_iter();
    blocks.map(|block| (&text[block.range], &text[block.lines])).collect()
}

#[test]
fn a_block_reaches_from_fence_to_fence() {
    let text = "Run:\n\n  ```sh\nls\n  ```  \nOr:\n```\ncd\nls\n```";
    assert_eq!(
        of(text),
        [("```sh\nls\n  ```", "ls\n"), ("```\ncd\nls\n```", "cd\nls\n")]
    );
    assert_eq!(of("No code, but `words` and ``marks``."), []);
    assert_eq!(of("```\n```"), [("```\n```", "")]);
}

#[test]
fn a_shorter_fence_ends_no_block() {
    let text = "````md\n```\nls\n```\ncd\n`````\nDone.";
    assert_eq!(of(text), [("````md\n```\nls\n```\ncd\n`````", "```\nls\n```\ncd\n")]);
}

#[test]
fn a_block_without_an_end_reaches_to_the_end() {
    assert_eq!(of("Run:\n```sh\nls"), [("```sh\nls", "ls")]);
    assert_eq!(of("```"), [("```", "")]);
}
