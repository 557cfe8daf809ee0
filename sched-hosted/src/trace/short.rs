// SPDX-License-Identifier: GPL-2.0-only
//! The short forms in which `trace-cmd report` and `perf script` print events when their plugins are at work:
//!
//! ```text
//! sched_switch:   w09:296 [120] S ==> w10:297 [120]
//! sched_wakeup:   w10:297 [120] CPU:000
//! sched_wakeup:   w10:297 [120] success=1 CPU:000
//! ```

use super::event::{Kind, PrevState, Subject};

/// A sched_switch in short form.
pub fn switch(args: &[u8]) -> Option<Kind<'_>> {
    const ARROW: &[u8] = b" ==> ";
    let arrow = memchr::memmem::find(args, ARROW)?;
    let next = subject(&args[arrow + ARROW.len()..])?;
    let left = &args[..arrow];
    let state = memchr::memrchr(b' ', left)?;
    let prev_state = PrevState::from_text(&left[state + 1..])?;
    let prev = subject(&left[..state])?;
    Some(Kind::Switch { prev, prev_state, next })
}

/// A wakeup in short form: the task and its CPU.
pub fn wake(args: &[u8]) -> Option<(Subject<'_>, u32)> {
    const CPU: &[u8] = b" CPU:";
    let at = memchr::memmem::rfind(args, CPU)?;
    let cpu = number(&args[at + CPU.len()..])?;
    let left = args[..at].trim_ascii_end();
    let left = left.strip_suffix(b" success=1").unwrap_or(left);
    Some((subject(left)?, cpu))
}

/// `COMM:PID [PRIO]`.
fn subject(text: &[u8]) -> Option<Subject<'_>> {
    let text = text.trim_ascii().strip_suffix(b"]")?;
    let open = memchr::memrchr(b'[', text)?;
    let digits = &text[open + 1..];
    let (negative, digits) = match digits.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, digits),
    };
    let prio = i32::try_from(number(digits)?).ok()?;
    let left = text[..open].trim_ascii_end();
    let colon = memchr::memrchr(b':', left)?;
    let pid = number(&left[colon + 1..])?;
    Some(Subject { comm: &left[..colon], pid, prio: Some(if negative { -prio } else { prio }) })
}

/// All of `text` as a number.
fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text)
        .ok()
        .filter(|text| text.bytes().all(|c| c.is_ascii_digit()))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_plugins_print() {
        let task = |comm: &'static str, pid, prio| Subject {
            comm: comm.as_bytes(),
            pid,
            prio: Some(prio),
        };
        assert_eq!(
            switch(b"kworker/0:1:12 [120] R+ ==> migration/0:18 [0]"),
            Some(Kind::Switch {
                prev: task("kworker/0:1", 12, 120),
                prev_state: PrevState::Runnable,
                next: task("migration/0", 18, 0),
            })
        );
        let woken = Some((task("a b:c", 7, -1), 3));
        assert_eq!(wake(b"a b:c:7 [-1] CPU:003"), woken);
        assert_eq!(wake(b"a b:c:7 [-1] success=1 CPU:003"), woken);
        for text in [
            "",
            "x",
            "x:1 [120]",
            "x:1 [120] CPU:",
            "x: [120] CPU:0",
            "x:1 [] CPU:0",
            ":1 120] CPU:0",
        ] {
            assert_eq!(wake(text.as_bytes()), None, "{text}");
        }
        for text in ["", " ==> ", "a:1 [2] S ==> b", "a:1 S ==> b:2 [3]", "a:1 [2] ==> b:2 [3]"] {
            assert_eq!(switch(text.as_bytes()), None, "{text}");
        }
    }
}
