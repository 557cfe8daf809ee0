// SPDX-License-Identifier: GPL-2.0-only
//! Panics as findings: a patch that brings the class to a BUG or into an endless loop must not end the program.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; a panic in it is an error with the panic's text, and nothing is printed.
///
/// What `f` was changing when it panicked may be half done: the caller must not use the class any more.
pub fn quietly<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    QUIET.set(before);
    result.map_err(|payload| text(&*payload))
}

fn text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("panic without a text");
    text.lines().next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::quietly;

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        assert_eq!(quietly(|| 7), Ok(7));
        assert_eq!(quietly(|| panic!("BUG: {}", 3)), Err::<(), _>("BUG: 3".to_string()));
        assert_eq!(
            quietly(|| std::panic::panic_any(5)),
            Err::<(), _>("panic without a text".into())
        );
    }
}
