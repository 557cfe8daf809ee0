// SPDX-License-Identifier: GPL-2.0-only
//! WARN_ON_ONCE() and BUG_ON().
//!
//! A warning is reported to the [`Hooks`](crate::trace::Hooks) of the machine, each time, and the code goes on as the
//! kernel's does. With hooks of `()` the report is empty and the test is gone with it, unless its result is used.
//! A BUG is a panic: the class is in a state from which the kernel, too, could not go on.

/// A WARN_ON_ONCE() that came true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Warn {
    /// The condition as it stands in the source.
    pub condition: &'static str,
    /// The file in which it stands.
    pub file: &'static str,
    /// The line in which it stands.
    pub line: u32,
}

impl core::fmt::Display for Warn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "WARN_ON_ONCE({}) at {}:{}", self.condition, self.file, self.line)
    }
}

/// `WARN_ON_ONCE!(hooks, condition)`: reports `condition` to `hooks` if it is true, and is its value.
#[macro_export]
#[allow(non_snake_case)]
macro_rules! WARN_ON_ONCE {
    ($hooks:expr, $condition:expr) => {{
        let condition: bool = $condition;
        if condition {
            $crate::trace::Hooks::warn(
                $hooks,
                &$crate::bug::Warn {
                    condition: stringify!($condition),
                    file: file!(),
                    line: line!(),
                },
            );
        }
        condition
    }};
}

/// `BUG_ON!(condition)`: panics if `condition` is true.
#[macro_export]
macro_rules! BUG_ON {
    ($condition:expr) => {
        if $condition {
            $crate::bug::bug(stringify!($condition));
        }
    };
}

/// The end of a BUG_ON() that came true, and of a NULL that the kernel would follow.
#[cold]
#[inline(never)]
pub fn bug(what: &str) -> ! {
    panic!("BUG: {what}");
}
