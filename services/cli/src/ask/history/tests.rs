use super::*;

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.json");
    (folder, file)
}

#[test]
fn a_missing_file_is_an_empty_conversation_and_an_answer_is_appended() {
    let (folder, file) = file();
    let mut conversation = Conversation::read(&file).unwrap();
    assert!(conversation.sent().messages.is_empty());
    assert!(!file.exists(), "nothing is written before there is an answer");
    conversation.add("Who?", "Kim.").unwrap();
    conversation.add("When?", "Now.").unwrap();
    let sent = Conversation::read(&file).unwrap().sent();
    let said: Vec<_> = sent
        .messages
        .iter()
        .map(|message| (message.role(), message.content.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (chat_message::Role::User, "Who?"),
            (chat_message::Role::Assistant, "Kim."),
            (chat_message::Role::User, "When?"),
            (chat_message::Role::Assistant, "Now."),
        ]
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no file is left beside it"
    );
}

#[test]
fn the_latest_fifty_messages_are_sent_and_none_is_lost() {
    let (_folder, file) = file();
    let many: Vec<_> = (0..53)
        .map(|number| serde_json::json!({"role": "user", "content": number.to_string(), "at": number}))
        .collect();
    fs::write(&file, serde_json::to_string(&many).unwrap()).unwrap();
    let mut conversation = Conversation::read(&file).unwrap();
    let sent = conversation.sent();
    assert_eq!((sent.messages.len(), sent.messages[0].content.as_str()), (50, "3"));
    assert_eq!(
        sent.notice,
        "the latest 50 of 53 messages are sent, the 3 before them are not"
    );
    conversation.add("Who?", "Kim.").unwrap();
    let kept: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((kept.len(), &kept[0]["at"]), (55, &Value::from(0)));
}

#[test]
fn long_messages_are_truncated_with_a_notice() {
    let (_folder, file) = file();
    let long = "é".repeat(MAX_QUESTION_BYTES);
    let messages = serde_json::json!([{"role": "user", "content": long}, {"role": "assistant", "content": " "}]);
    fs::write(&file, messages.to_string()).unwrap();
    let sent = Conversation::read(&file).unwrap().sent();
    assert_eq!(
        (sent.messages.len(), sent.messages[0].content.len()),
        (1, MAX_QUESTION_BYTES)
    );
    assert!(
        sent.notice.contains("messages truncated to 8192 bytes: 1"),
        "{}",
        sent.notice
    );
}

#[test]
fn an_invalid_file_is_reported_with_the_expected_format_and_kept() {
    let (folder, file) = file();
    for wrong in [
        "{",
        "{\"role\": \"user\"}",
        "[{\"role\": \"system\", \"content\": \"x\"}]",
        "[{\"role\": \"user\"}]",
    ] {
        fs::write(&file, wrong).unwrap();
        let error = format!("{:#}", Conversation::read(&file).unwrap_err());
        assert!(
            error.contains("chat.json is not a valid conversation") && error.contains(r#"[{"role": "user""#),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), wrong);
    }
    let error = Conversation::read(&folder.path().join("no/chat.json")).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}
