//! The six services as processes, while they are killed, stopped, drained, cut off, overloaded, scaled, and left to run.
//!
//! ```sh
//! cargo test -p emend-tests --test chaos                                        # all of it, in about two minutes
//! EMEND_CHAOS_WALKS=1000 cargo test -p emend-tests --test chaos whatever_fails  # more walks
//! EMEND_SOAK=30m cargo test --release -p emend-tests --test chaos soak          # memory, handles and threads for half an hour
//! ```
//!
//! The program is every service too: it starts itself in another role.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says on standard output what it measured"
)]

mod faults;
mod outcome;
mod overload;
mod processes;
mod proxy;
mod scale;
mod soak;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tokio::runtime;

fn main() -> ExitCode {
    if let Some(ended) = processes::in_role() {
        return ended;
    }
    let arguments = Arguments {
        // Each has the machine for itself.
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let trials = vec![
        trial("every_walk_ends_whatever_fails_and_nothing_remembers_it", faults::run),
        trial("graders_come_and_go_without_a_walk_lost", scale::run),
        trial("soak_leaves_no_memory_handle_or_thread_behind", soak::run),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(test());
        Ok(())
    })
}
