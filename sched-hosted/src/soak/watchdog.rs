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

#[cfg(test)]
mod tests {
    use super::Watchdog;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn it_barks_once_nothing_moves_and_names_the_last() {
        let (tell, told) = mpsc::channel();
        let watchdog = Watchdog::new(Duration::from_millis(40), move |at| {
            let _ = tell.send(at);
        });
        watchdog.begin(3);
        watchdog.begin(7);
        assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(7));
    }

    #[test]
    fn it_is_quiet_before_the_start_and_after_the_end() {
        let (tell, told) = mpsc::channel();
        let watchdog = Watchdog::new(Duration::from_millis(20), move |at| {
            let _ = tell.send(at);
        });
        assert!(told.recv_timeout(Duration::from_millis(100)).is_err());
        drop(watchdog);
        // The other end goes away unused.
        assert_eq!(
            told.recv_timeout(Duration::from_secs(20)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        );
    }
}
