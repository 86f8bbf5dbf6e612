use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use super::*;
use crate::Server;

#[derive(Parser)]
#[command(name = "emend-test")]
struct Options {
    #[command(flatten)]
    service: ServiceOptions,
    /// Fail to start
    #[arg(long)]
    broken: bool,
}

crate::service_options!(Options);

const ARGUMENTS: &str = "EMEND_CHASSIS_TEST_ARGUMENTS";

/// The service that the other tests start: this test, in a process of its own.
#[test]
fn service() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments = ["emend-test"]
        .into_iter()
        .chain(arguments.split_whitespace())
        .map(OsString::from);
    let code = run_with::<Options, _, _>("emend-test", arguments, |options, listener, shutdown| async move {
        if options.broken {
            return Err(ServeError::start(std::io::Error::other("no model")));
        }
        Server::new("emend-test", &options.service)
            .serve(listener, shutdown)
            .await
    });
    std::process::exit(code.into());
}

fn start(arguments: &str) -> Child {
    start_with(arguments, &[])
}

fn start_with(arguments: &str, variables: &[(&str, &str)]) -> Child {
    spawn(Command::new(std::env::current_exe().unwrap()), arguments, variables)
}

fn spawn(mut program: Command, arguments: &str, variables: &[(&str, &str)]) -> Child {
    program
        .args(["run::tests::service", "--exact", "--nocapture", "--test-threads=1"])
        .env(ARGUMENTS, arguments)
        .envs(variables.iter().copied())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn end(mut child: Child) -> (i32, String) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code().unwrap(), said)
}

#[test]
fn a_signal_drains_and_ends_with_zero() {
    for signal in ["-TERM", "-INT"] {
        let mut child = start("--listen 127.0.0.1:0");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.by_ref().any(|line| line.contains("serving")), "it never served");
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert!(lines.any(|line| line.contains("draining")), "it never drained");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn a_process_without_file_descriptors_closes_those_who_come_and_goes_on() {
    let mut child = Command::new("sh");
    child
        .args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
    let mut child = spawn(child, "--listen 127.0.0.1:0 --log-format json", &[]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address = lines
        .find_map(|line| Some(line.split_once("\"address\":\"")?.1.split('"').next()?.to_owned()))
        .unwrap();
    // Somebody has to read what it says.
    let log = std::thread::spawn(move || lines.any(|line| line.contains("ulimit -n")));
    let connect = || {
        let connection = TcpStream::connect(&address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        connection
    };
    let mut connections: Vec<_> = (0..60).map(|_| connect()).collect();
    // The last of sixty cannot have a descriptor of forty.
    let mut end = Vec::new();
    if let Err(error) = connections.pop().unwrap().read_to_end(&mut end) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert!(end.is_empty(), "it was served");
    drop(connections);
    // As the others are noticed to be gone there is room: the server says its settings.
    while connect().read(&mut [0]).unwrap_or(0) == 0 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(log.join().unwrap(), "it did not say why");
}

#[test]
fn what_is_wrong_is_one_line_and_a_code() {
    let (code, said) = end(start("--listen 127.0.0.1:0 --broken"));
    assert_eq!(code, 1);
    assert!(
        said.lines().any(|line| line == "emend-test: cannot start: no model"),
        "{said}"
    );

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let (code, said) = end(start(&format!("--listen {address}")));
    assert_eq!(code, 1);
    assert!(
        said.contains(&format!("emend-test: cannot listen on {address}")),
        "{said}"
    );

    let (code, said) = end(start("--log not=a=filter"));
    assert_eq!(code, 2);
    assert!(
        said.contains("emend-test: --log \"not=a=filter\" is not a log filter"),
        "{said}"
    );

    let (code, said) = end(start("--config /nowhere.toml"));
    assert_eq!(code, 2);
    assert!(said.contains("/nowhere.toml"), "{said}");

    let (code, said) = end(start_with("", &[("EMEND_CONFIG", "/elsewhere.toml")]));
    assert_eq!(code, 2);
    assert!(said.contains("/elsewhere.toml"), "{said}");

    let (code, said) = end(start("--listne 1"));
    assert_eq!(code, 2);
    assert!(said.contains("--listen"), "{said}");

    assert_eq!(end(start("--help")).0, 0);
}

#[test]
fn an_open_port_beyond_this_machine_is_refused_and_said_at_every_start_where_it_is_wanted() {
    let (code, said) = end(start("--listen 0.0.0.0:0"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--tls-cert") && said.contains("--insecure"), "{said}");
    let mut child = start_with("--listen 0.0.0.0:0", &[("EMEND_INSECURE", "true")]);
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut before: Vec<_> = Vec::new();
    for line in lines {
        let serves = line.contains("serving");
        before.push(line);
        if serves {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let warned = before
        .iter()
        .any(|line| line.contains("WARN") && line.contains("--keys-file"));
    assert!(warned, "{before:?}");
}

#[test]
fn files_of_keys_and_certificates_that_are_wrong_end_the_program_before_anything_is_loaded() {
    for (arguments, part) in [
        (
            "--tls-cert /no/cert.pem --tls-key /no/key.pem",
            "--tls-cert /no/cert.pem",
        ),
        ("--tls-cert /no/cert.pem", "--tls-key"),
        ("--keys-file /no/keys.toml", "/no/keys.toml"),
    ] {
        let (code, said) = end(start(&format!("--broken {arguments}")));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(part) && !said.contains("no model"), "{said}");
    }
}
