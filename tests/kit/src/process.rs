//! Programs that a benchmark starts, and what the operating system knows about them.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read},
    net::SocketAddr,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

/// Clock ticks in a second, as `/proc` counts processor time. Linux shows all programs 100 on every architecture.
const TICKS: u64 = 100;

/// A program that serves on an address. It ends when this is dropped, also by a panic.
#[derive(Debug)]
pub struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    /// Starts a program that writes on standard output where it listens, and waits for that.
    ///
    /// # Errors
    /// An [`io::Error`] when it cannot be started or ends without listening.
    pub fn start(command: &mut Command) -> io::Result<Process> {
        Self::spawned(command.stdin(Stdio::piped()).stdout(Stdio::piped()), |child| {
            child.stdout.take()
        })
    }

    /// Starts a program whose log, on standard error, says where it listens, and waits for that. The rest of the log is
    /// read and dropped.
    ///
    /// # Errors
    /// As [`Process::start`].
    pub fn start_logging(command: &mut Command) -> io::Result<Process> {
        Self::spawned(command.stdin(Stdio::piped()).stderr(Stdio::piped()), |child| {
            child.stderr.take()
        })
    }

    fn spawned<R: Read + Send + 'static>(
        command: &mut Command,
        take: impl FnOnce(&mut Child) -> Option<R>,
    ) -> io::Result<Process> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn()?;
        let output = take(&mut child);
        // From here on, whatever goes wrong ends the child.
        let mut process = Process {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let output = output.ok_or_else(|| io::Error::other("its output was not piped"))?;
        let mut output = BufReader::new(output);
        let mut said = String::new();
        loop {
            let before = said.len();
            if output.read_line(&mut said)? == 0 {
                return Err(io::Error::other(format!("{program} did not start: {}", said.trim())));
            }
            if let Some(address) = address(&said[before..]) {
                process.address = address;
                break;
            }
        }
        // A pipe that nobody reads fills up, and then the program waits for ever.
        thread::spawn(move || drop(io::copy(&mut output, &mut io::sink())));
        Ok(process)
    }

    /// Where it listens, as a client has it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends it a signal, by the name that `kill` knows: `TERM`, `STOP`, `CONT`.
    ///
    /// # Errors
    /// An [`io::Error`] when it cannot be sent.
    pub fn signal(&self, signal: &str) -> io::Result<()> {
        let sent = Command::new("kill")
            .args([format!("-{signal}"), self.child.id().to_string()])
            .status()?;
        if sent.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{signal} was not sent: {sent}")))
        }
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// An [`io::Error`] when the operating system does not tell.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Files and connections that it has open; `None` where there is no `/proc`.
    pub fn handles(&self) -> Option<usize> {
        Some(fs::read_dir(format!("/proc/{}/fd", self.child.id())).ok()?.count())
    }

    /// Threads that it has; `None` where there is no `/proc`.
    pub fn threads(&self) -> Option<usize> {
        Some(fs::read_dir(format!("/proc/{}/task", self.child.id())).ok()?.count())
    }

    /// Processor time that it has used so far; `None` where there is no `/proc`.
    pub fn cpu(&self) -> Option<Duration> {
        cpu(&self.child.id().to_string())
    }

    /// Its resident memory in bytes; `None` where there is no `/proc`.
    pub fn rss(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to do.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The address that a line says, alone or as the value of a field.
fn address(line: &str) -> Option<SocketAddr> {
    line.split_whitespace()
        .find_map(|word| word.rsplit('=').next()?.parse().ok())
}

/// Processor time of this process so far; `None` where there is no `/proc`.
pub fn own_cpu() -> Option<Duration> {
    cpu("self")
}

/// Processor time of a process: user and system, the 14th and 15th field of its line.
fn cpu(process: &str) -> Option<Duration> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may contain anything.
    let mut fields = line.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

/// Load of the machine: programs that ran or wanted to in the last minute.
pub fn load() -> Option<f64> {
    let line = fs::read_to_string("/proc/loadavg").ok()?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
