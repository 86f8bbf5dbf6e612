use std::process::Command;

use super::{Process, address};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_program_says_where_it_listens_on_either_output() {
    let said = Process::start(&mut shell("echo ready; echo 127.0.0.1:7; exec sleep 600")).unwrap();
    assert_eq!(said.url(), "http://127.0.0.1:7");
    let log = "echo 'INFO serving service=grader address=[::1]:8' >&2; exec sleep 600";
    let logged = Process::start_logging(&mut shell(log)).unwrap();
    assert_eq!(logged.url(), "http://[::1]:8");
}

#[test]
fn a_program_that_ends_is_an_error_with_its_own_words() {
    let error = Process::start_logging(&mut shell("echo 'no such model' >&2")).unwrap_err();
    assert!(error.to_string().contains("no such model"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_ends_with_its_owner() {
    let process = Process::start(&mut shell("echo 127.0.0.1:7; exec sleep 600")).unwrap();
    let folder = format!("/proc/{}", process.child.id());
    assert!(process.cpu().is_some() && process.rss().is_some());
    drop(process);
    assert!(!std::path::Path::new(&folder).exists());
}

#[test]
fn an_address_is_a_word_or_the_value_of_a_field() {
    assert_eq!(address("serving address=127.0.0.1:80\n"), "127.0.0.1:80".parse().ok());
    assert_eq!(address("model=http://127.0.0.1:80/v1"), None);
}
