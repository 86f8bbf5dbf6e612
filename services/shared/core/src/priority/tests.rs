use std::thread;

use rustix::process::getpriority_process;

use super::*;

#[test]
fn only_this_thread_is_nicer() {
    let here = getpriority_process(None).unwrap();
    let there = thread::spawn(|| {
        let_others_first();
        getpriority_process(None).unwrap()
    });
    // 19 is the nicest there is.
    assert_eq!(there.join().unwrap(), (here + COMPUTE_NICENESS).min(19));
    assert_eq!(getpriority_process(None).unwrap(), here);
}
