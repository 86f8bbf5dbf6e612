//! `emend up` as a process of its own.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead as _, BufReader, Lines},
    process::{Child, ChildStdout, Command, Stdio},
};

use tonic::transport::Channel;

/// The six services and the gateway in a process of their own, on free ports, which ends with this.
pub(super) struct Up {
    process: Child,
    urls: HashMap<String, String>,
    /// A process whose output nobody reads any more ends.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Up {
    /// Starts `emend up` with its options.
    pub(super) fn start(command: &mut Command) -> Self {
        let mut process = command
            .args(["--base-port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut urls = HashMap::new();
        while urls.len() < 7 {
            let line = lines.next().unwrap().unwrap();
            if let [name, url] = line.split_whitespace().collect::<Vec<_>>()[..] {
                urls.insert(name.to_owned(), url.to_owned());
            }
        }
        Self {
            process,
            urls,
            _lines: lines,
        }
    }

    /// The names of the services that speak gRPC.
    pub(super) fn services(&self) -> impl Iterator<Item = &String> {
        self.urls.keys().filter(|name| *name != "gateway")
    }

    pub(super) fn url(&self, service: &str) -> &str {
        &self.urls[service]
    }

    /// Host and port of a service.
    pub(super) fn address(&self, service: &str) -> &str {
        self.url(service).split_once("://").unwrap().1
    }

    pub(super) fn channel(&self, service: &str) -> Channel {
        Channel::from_shared(self.url(service).to_owned())
            .unwrap()
            .connect_lazy()
    }

    /// The most memory that it ever had, in bytes.
    pub(super) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
