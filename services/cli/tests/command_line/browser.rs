//! The page of the gateway in a real browser: `services/gateway/tests/page`. `tests/peers.sh` installs what it needs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Place, gateway_clients::peer, pdf::pdf, stderr, stdout, up::Up};

/// Documents in other languages than English, by the names of their files.
const LEAVE: [(&str, &str); 3] = [
    (
        "휴가.md",
        "# 휴가\n\n모든 직원은 일 년에 25일의 유급 휴가를 받습니다. 휴가는 팀장이 승인합니다.\n",
    ),
    (
        "休暇.md",
        "# 休暇\n\nすべての従業員には年に二十五日の有給休暇があります。休暇はチームリーダーが承認します。\n",
    ),
    (
        "假期.md",
        "# 假期\n\n每位员工每年有二十五天带薪假期。假期由团队负责人批准。\n",
    ),
];
const TRACE_URL: &str = "http://jaeger.example:16686/trace/{traceId}";

/// The browser of the machine, by the names that it goes by.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

#[test]
fn the_page_does_in_a_browser_what_it_is_for() {
    let Some(packages) = peer("page") else { return };
    let Some(chromium) = chromium() else {
        println!("NOT RUN: there is no Chromium; tests/peers.sh installs it");
        return;
    };
    let place = Place::new();
    for (name, text) in LEAVE {
        fs::write(place.docs.path().join(name), text).unwrap();
    }
    let pages: [&[&str]; 2] = [
        &["The lighthouse is painted red every spring."],
        &["The ferry to the island sails at seven in the morning."],
    ];
    fs::write(place.docs.path().join("harbour.pdf"), pdf(&pages)).unwrap();
    let up = Up::start(place.emend(&["up"]).env("EMEND_TRACE_URL", TRACE_URL));
    let docs = place.docs.path().to_str().unwrap();
    let stored = place
        .emend(&["ingest", "--url", up.url("retriever"), docs])
        .output()
        .unwrap();
    assert!(stored.status.success(), "{}", stderr(&stored));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/page/page.test.mjs");
    let output = Command::new("node")
        .arg(script)
        .env("EMEND_URL", format!("{}/", up.url("gateway")))
        .env("EMEND_TRACE_URL", TRACE_URL)
        .env("EMEND_PEERS", packages)
        .env("CHROMIUM", chromium)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    println!("{}", stdout(&output));
}
