//! The priority of threads that compute for long.

/// By how much a thread that computes for long is nicer than those that serve. They get nine times its share of a core, and
/// get the core as soon as they have something to do.
pub const COMPUTE_NICENESS: i32 = 10;

/// Has this thread let those that serve go first. Other systems than Linux set the priority of whole processes: there nothing
/// changes.
pub fn let_others_first() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};
        // Where it is refused, the thread is as any other.
        let _ = getpriority_process(None).and_then(|now| setpriority_process(None, now + COMPUTE_NICENESS));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
