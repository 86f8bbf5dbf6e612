use std::{sync::Condvar, time::Instant};

use super::*;

/// Readers that wait until they are let go.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

#[test]
fn a_reader_that_hangs_holds_up_nobody_and_no_third_one_is_begun() {
    static READERS: Readers = Readers::new();
    let gate = Arc::new(Gate::default());
    let hang = |bounds: Bounds<'_>| {
        let gate = Arc::clone(&gate);
        READERS.watch(Format::Pdf, bounds, move |_| {
            gate.wait();
            Ok(())
        })
    };
    assert_eq!(hang(Bounds::new(&|| true)), Err(DocumentError::Stopped));
    let over = hang(Bounds::until(Instant::now(), &|| false));
    assert!(matches!(over, Err(DocumentError::TooSlow { .. })), "{over:?}");
    let busy = hang(Bounds::new(&|| false)).unwrap_err();
    assert_eq!(busy, DocumentError::Busy { format: Format::Pdf });
    gate.open();
    while READERS.abandoned.load(Ordering::SeqCst) > 0 {
        thread::yield_now();
    }
    assert_eq!(READERS.watch(Format::Pdf, Bounds::new(&|| false), |_| Ok(7)), Ok(7));
}

#[test]
fn a_reader_that_panics_is_an_error() {
    let broke_off = "it cannot be read as PDF: its reader broke off; save it in another format";
    let panicking = || -> Result<(), DocumentError> { panic!("a reader's mistake") };
    assert_eq!(on_own_stack(Format::Pdf, panicking).unwrap_err().to_string(), broke_off);
}
