// SPDX-License-Identifier: GPL-2.0-only
//! Notices that a thread stands still. It cannot end that thread: what is then to be done is the caller's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// So many looks make up the time.
const LOOKS: u32 = 20;
/// There is nothing more to watch.
const OVER: u64 = u64::MAX;

/// Watches the thread that holds it.
pub struct Watchdog(Arc<AtomicU64>);

impl Watchdog {
    /// Once [`Watchdog::begin`] has been called, `bark` is called in another thread with the last index if no other
    /// begins within `after`. Looks are counted and not time, so that a process that is stopped for a while is not
    /// taken for one that hangs. Without a thread to be had nothing is watched.
    pub fn new(after: Duration, bark: impl FnOnce(usize) + Send + 'static) -> Self {
        let begun = Arc::new(AtomicU64::new(0));
        let watched = Arc::clone(&begun);
        let _ = std::thread::Builder::new().spawn(move || {
            let (mut last, mut still) = (0, 0);
            while last != OVER {
                std::thread::sleep(after / LOOKS);
                let now = watched.load(Relaxed);
                still = if now == last { still + 1 } else { 0 };
                last = now;
                if still >= LOOKS && last != 0 && last != OVER {
                    return bark(last as usize - 1);
                }
            }
        });
        Watchdog(begun)
    }

    /// The statement of this index begins.
    pub fn begin(&self, at: usize) {
        self.0.store(at as u64 + 1, Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(OVER, Relaxed);
    }
}
