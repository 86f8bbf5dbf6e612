use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;

fn entry(digest: &str) -> KeyEntry {
    KeyEntry {
        sha256: digest.to_owned(),
        allow: vec![Permission::Ask],
        collections: vec!["handbook".parse().unwrap(), "team-*".parse().unwrap()],
        graphs: vec![Pattern::all()],
        rate: None,
        model_calls_per_day: None,
        tokens_per_day: None,
    }
}

fn load(path: &Path) -> Keys {
    let options = ServiceOptions {
        keys_file: Some(path.to_owned()),
        ..ServiceOptions::default()
    };
    Keys::load(&options).unwrap().unwrap()
}

#[test]
fn a_key_is_known_by_its_digest_alone_and_only_while_it_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let mut file = KeysFile::read_or_new(&path).unwrap();
    let (one, digest) = new_key().unwrap();
    let (other, other_digest) = new_key().unwrap();
    assert_ne!(one, other);
    assert_eq!(one.reveal().len(), PREFIX.len() + 43, "256 bits in base 64");
    file.add("one", entry(&digest)).unwrap();
    file.write(&path).unwrap();
    let keys = load(&path);
    assert_eq!(keys.identify(one.reveal()).unwrap().name(), Some("one"));
    for wrong in [
        other.reveal(),
        "",
        "one",
        &digest,
        &one.reveal()[1..],
        &"x".repeat(100_000),
    ] {
        assert!(keys.identify(wrong).is_none(), "{wrong:.80}");
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(one.reveal()) && text.contains(&digest));
    assert!(!format!("{keys:?} {one:?}").contains(one.reveal()));

    file.add("other", entry(&other_digest)).unwrap();
    file.remove("one").unwrap();
    file.write(&path).unwrap();
    assert!(keys.refresh().unwrap());
    assert!(keys.identify(one.reveal()).is_none());
    assert_eq!(keys.identify(other.reveal()).unwrap().name(), Some("other"));

    // A file that is wrong changes nothing.
    fs::write(&path, "[keys.other]\nsha256 = 1\n").unwrap();
    let error = keys.refresh().unwrap_err().to_string();
    assert!(error.contains("keys.toml") && error.contains("line 2"), "{error}");
    assert!(keys.identify(other.reveal()).is_some());
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    // Not even where somebody expects it.
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "theirs").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("keys.toml.new")).unwrap();
    KeysFile::default().write(&path).unwrap();
    assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode(), 0o100_600);
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "theirs");
}

#[test]
fn the_programs_own_key_may_do_everything_and_uses_up_nothing_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let ((key, digest), (own, _)) = (new_key().unwrap(), new_key().unwrap());
    let mut file = KeysFile::default();
    assert!(file.add(OWN_NAME, entry(&digest)).is_err());
    let limited = KeyEntry {
        rate: Some("1/h".parse().unwrap()),
        ..entry(&digest)
    };
    file.add("emend", limited).unwrap();
    file.write(&path).unwrap();
    let options = ServiceOptions {
        keys_file: Some(path),
        own_key: Some(own.clone()),
        ..ServiceOptions::default()
    };
    let keys = Keys::load(&options).unwrap().unwrap();
    let call = |key: &Secret| keys.identify(key.reveal()).unwrap().call();
    call(&key).unwrap();
    for permission in Permission::value_variants() {
        keys.identify(own.reveal()).unwrap().may(*permission).unwrap();
        call(&own).unwrap();
        assert!(call(&key).is_err());
    }
}

#[test]
fn a_wrong_file_says_what_is_wrong_and_repeats_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let digest = "0".repeat(64);
    let rest = "allow = [\"ask\"]\ncollections = [\"*\"]\ngraphs = [\"*\"]\n";
    for (text, part) in [
        (
            "[keys.a]\nsha256 = \"emend_planted\"\nallow = []\ncollections = []\ngraphs = []\n".to_owned(),
            "keys.a.sha256",
        ),
        (
            format!("[keys.\"a b\"]\nsha256 = \"{digest}\"\n{rest}"),
            "\"a b\" is no name",
        ),
        (
            format!("[keys.a]\nsha256 = \"{digest}\"\n{rest}rate = \"fast\"\n"),
            "10/s",
        ),
        (
            format!("[keys.a]\nsha256 = \"{digest}\"\n{rest}may = 1\n"),
            "unknown field",
        ),
        (format!("[keys.a]\nsha256 = \"{digest}\"\n"), "missing field"),
        (
            format!("[keys.a]\nsha256 = \"{digest}\"\n{rest}[keys.b]\nsha256 = \"{digest}\"\n{rest}"),
            "keys.a and keys.b have the same",
        ),
        (
            format!(
                "[keys.a]\nsha256 = \"{digest}\"\n{}",
                rest.replace("\"ask\"", "\"fly\"")
            ),
            "unknown variant",
        ),
        (
            format!(
                "[keys.a]\nsha256 = \"{digest}\"\n{}",
                rest.replacen("\"*\"", "\"a*b\"", 1)
            ),
            "a*b",
        ),
        ("sha256 = emend_planted".to_owned(), "line 1"),
    ] {
        fs::write(&path, &text).unwrap();
        let options = ServiceOptions {
            keys_file: Some(path.clone()),
            ..ServiceOptions::default()
        };
        let error = Keys::load(&options).unwrap_err();
        let shown = emend_core::error_chain(&error);
        assert!(shown.contains(part) && shown.contains("keys.toml"), "{shown}");
        assert!(!shown.contains("planted"), "{shown}");
    }
    let error = KeysFile::read(&folder.path().join("nowhere.toml"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("emend keys add"), "{error}");
    let mut file = KeysFile::default();
    file.add("app", entry(&digest)).unwrap();
    assert!(matches!(file.add("app", entry(&digest)), Err(KeysError::Taken { .. })));
    assert!(file.remove("apq").unwrap_err().to_string().contains("`app`"));
}

fn identity(change: impl FnOnce(&mut KeyEntry)) -> Identity {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let (key, digest) = new_key().unwrap();
    let mut entry = entry(&digest);
    change(&mut entry);
    let mut file = KeysFile::default();
    file.add("app", entry).unwrap();
    file.write(&path).unwrap();
    load(&path).identify(key.reveal()).unwrap()
}

#[test]
fn a_key_may_what_its_entry_says_and_the_refusal_says_nothing_of_what_exists() {
    let app = identity(|_| {});
    app.may(Permission::Ask).unwrap();
    let denied = app.may(Permission::Ingest).unwrap_err().to_string();
    assert_eq!(
        denied,
        "key \"app\" may not ingest: it is allowed ask, and this takes ingest"
    );
    app.collection("handbook").unwrap();
    app.collection("team-a").unwrap();
    app.graph("anything").unwrap();
    let denied = app.collection("payroll").unwrap_err().to_string();
    assert_eq!(
        denied,
        "key \"app\" may not use collection \"payroll\": its collections are handbook, team-*"
    );
    let everybody = Identity::default();
    everybody.may(Permission::Admin).unwrap();
    everybody.collection("payroll").unwrap();

    let known = tonic::Status::not_found("collection x is unknown; known are payroll");
    assert!(!app.conceal(known.clone()).message().contains("payroll"));
    assert!(everybody.conceal(known.clone()).message().contains("payroll"));
    let all = identity(|entry| entry.collections = vec![Pattern::all()]);
    assert!(all.conceal(known).message().contains("payroll"));
    let nobody = identity(|entry| entry.allow.clear());
    assert!(
        nobody
            .may(Permission::Ask)
            .unwrap_err()
            .to_string()
            .contains("allowed nothing")
    );
}

#[test]
fn a_rate_lets_so_many_calls_through_and_says_when_to_come_back() {
    let app = identity(|entry| entry.rate = Some("2/h".parse().unwrap()));
    app.call().unwrap();
    app.call().unwrap();
    let over = app.call().unwrap_err();
    assert!(
        over.retry_after > Duration::from_secs(60) && over.to_string().contains("2/h"),
        "{over}"
    );
    for wrong in ["10", "0/s", "10/d", "-1/s", "/s", ""] {
        assert!(wrong.parse::<Rate>().unwrap_err().contains("10/s"), "{wrong}");
    }
}

#[test]
fn a_budget_is_of_a_day_and_the_next_one_has_it_again() {
    let app = identity(|entry| {
        entry.model_calls_per_day = Some(10);
        entry.tokens_per_day = Some(100);
    });
    assert_eq!(app.left().unwrap(), (Some(10), Some(100)));
    app.spend(Spent {
        model_calls: 4,
        tokens: 100,
    });
    let over = app.left().unwrap_err();
    assert!(over.to_string().contains("100 tokens of the day") && over.retry_after <= Duration::from_secs(24 * 3600));

    let meter = Meter::new(None);
    let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(20_000 * 24 * 3600 + 12 * 3600);
    let spent = Spent {
        model_calls: 3,
        tokens: 5,
    };
    meter.spend(noon, spent);
    assert_eq!(meter.today(noon), (spent, Duration::from_secs(12 * 3600)));
    assert_eq!(meter.today(noon + Duration::from_secs(12 * 3600)).0, Spent::default());
}

#[test]
fn what_was_used_outlives_a_change_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let (key, digest) = new_key().unwrap();
    let mut file = KeysFile::default();
    let mut app = entry(&digest);
    app.model_calls_per_day = Some(10);
    file.add("app", app.clone()).unwrap();
    file.write(&path).unwrap();
    let keys = load(&path);
    keys.identify(key.reveal()).unwrap().spend(Spent {
        model_calls: 4,
        tokens: 0,
    });
    app.rate = Some("5/s".parse().unwrap());
    file.remove("app").unwrap();
    file.add("app", app).unwrap();
    file.write(&path).unwrap();
    assert!(keys.refresh().unwrap());
    assert_eq!(keys.identify(key.reveal()).unwrap().left().unwrap(), (Some(6), None));
}
