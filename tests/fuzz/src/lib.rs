//! Fuzzing: what reads bytes of others is tried with bytes that nobody means to send.
//!
//! A target is a test whose name begins with `fuzz_`. It runs a few cases, the same each time. `EMEND_FUZZ_SECONDS=3600` goes on
//! with others for so long, from `EMEND_FUZZ_SEED` where it is given. A failure names its seed, which runs it again:
//!
//! ```sh
//! EMEND_FUZZ_SECONDS=60 cargo test -p emend-text fuzz_ -- --nocapture
//! ```
#![expect(clippy::panic, reason = "a target that fails, fails its test")]

mod damage;

use std::env;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestError, TestRng, TestRunner};

pub use damage::damaged;

/// Cases of a target, where nobody asks for more, and of one seed.
pub const CASES: u32 = 64;
/// Longest input of a failure that is shown, in characters.
const MAX_SHOWN: usize = 4000;
/// How often, and for how many milliseconds, an input that fails is made smaller.
const MAX_SHRINKS: u32 = 4096;
const MAX_SHRINK_TIME: u32 = 20_000;

/// Runs a target over [`CASES`] values of a strategy, or for `EMEND_FUZZ_SECONDS`.
///
/// # Panics
/// When a check fails or panics: with the smallest value that was found to fail, and with the seed.
pub fn fuzz<S: Strategy>(name: &str, strategy: S, check: impl Fn(S::Value) -> TestCaseResult) {
    fuzz_cases(name, CASES, strategy, check);
}

/// As [`fuzz`] with another number of cases, for a target that takes long or has much to try.
///
/// # Panics
/// As [`fuzz`].
pub fn fuzz_cases<S: Strategy>(name: &str, cases: u32, strategy: S, check: impl Fn(S::Value) -> TestCaseResult) {
    let settings = Settings {
        seconds: number("EMEND_FUZZ_SECONDS"),
        seed: number("EMEND_FUZZ_SEED"),
    };
    if let Err(failure) = run(name, cases, &settings, &strategy, &check) {
        panic!("{failure}");
    }
}

/// The number that a variable of the environment has.
fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} must be a number, is {text:?}")))
}

/// How long a target runs, and from which seed.
#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    seconds: Option<u64>,
    seed: Option<u64>,
}

/// Runs a target. Returns how many cases were tried.
fn run<S: Strategy>(
    name: &str,
    cases: u32,
    settings: &Settings,
    strategy: &S,
    check: &impl Fn(S::Value) -> TestCaseResult,
) -> Result<u64, String> {
    let first = settings.seed.unwrap_or_else(|| own_seed(name));
    let Some(seconds) = settings.seconds else {
        batch(name, cases, first, strategy, check)?;
        return Ok(cases.into());
    };
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut tried = 0;
    for number in 0.. {
        batch(name, cases, first.wrapping_add(number), strategy, check)?;
        tried += u64::from(cases);
        if Instant::now() >= until {
            break;
        }
    }
    say(&format!("{name}: {tried} cases in {seconds} s, seeds from {first}"));
    Ok(tried)
}

#[expect(clippy::print_stderr, reason = "tests show what they write where they are asked to")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// The seed of a target of this name.
fn own_seed(name: &str) -> u64 {
    name.bytes()
        .fold(0, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()))
}

/// Runs the cases of one seed.
fn batch<S: Strategy>(
    name: &str,
    cases: u32,
    seed: u64,
    strategy: &S,
    check: &impl Fn(S::Value) -> TestCaseResult,
) -> Result<(), String> {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: MAX_SHRINKS,
        max_shrink_time: MAX_SHRINK_TIME,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let failure = match TestRunner::new_with_rng(config, rng).run(strategy, check) {
        Ok(()) => return Ok(()),
        Err(TestError::Fail(reason, value)) => format!("{reason}\nthe smallest input: {}", shown(&value)),
        Err(TestError::Abort(reason)) => format!("no more inputs: {reason}"),
    };
    Err(format!("{name}: {failure}\nagain with EMEND_FUZZ_SEED={seed}"))
}

fn shown(value: &impl Debug) -> String {
    let shown = format!("{value:?}");
    match shown.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &shown[..end], shown.len()),
        None => shown,
    }
}

#[cfg(test)]
mod tests;
