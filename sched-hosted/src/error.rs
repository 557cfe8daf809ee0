// SPDX-License-Identifier: GPL-2.0-only
//! The one error type of the crate. What went wrong, where, and what to do stand in its text, which
//! is one line whatever the input was: quoted input is escaped and shortened here, so that no
//! caller has to think of it.

use std::fmt;
use std::io;

/// Exit code: all is well.
pub const EXIT_FINE: u8 = 0;
/// Exit code: a difference between two sides, or a violated invariant.
pub const EXIT_DIFFERENCE: u8 = 1;
/// Exit code: the input (a file, a statement, an argument) is wrong.
pub const EXIT_BAD_INPUT: u8 = 2;
/// Exit code: the request is sound, but cannot be met here.
pub const EXIT_NOT_POSSIBLE: u8 = 3;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, and what to do about it. `Display` gives one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file says something wrong at a known place.
    #[error("{place}: {what}; {remedy}")]
    BadInput {
        /// Where it stands.
        place: Place,
        /// What is wrong, with the offending words quoted.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// An argument of the command line is wrong.
    #[error("{what}; {remedy}")]
    BadArgument {
        /// What is wrong, naming the argument.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A file cannot be read.
    #[error("{}: cannot read it ({source}); check the path and its permissions", printable(path))]
    Read {
        /// The file, as it was named.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file, or standard output, cannot be written.
    #[error("{}: cannot write it ({source}); check space and permissions", printable(path))]
    Write {
        /// The file, as it was named; `standard output` for that.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The request is sound, but it cannot be met on this machine or in this build.
    #[error("{what}; {remedy}")]
    NotPossible {
        /// What is not possible.
        what: String,
        /// What to do instead.
        remedy: String,
    },
}

impl Error {
    /// A wrong word or line: in `file`, at `line` and `column` (both counted from 1, columns in
    /// bytes).
    pub fn bad_input(
        file: &str,
        line: u32,
        column: u32,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Error::BadInput {
            place: Place { file: file.to_string(), line, column },
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// A wrong argument of the command line.
    pub fn bad_argument(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::BadArgument { what: what.into(), remedy: remedy.into() }
    }

    /// Something that cannot be done here.
    pub fn not_possible(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::NotPossible { what: what.into(), remedy: remedy.into() }
    }

    /// `path` could not be read.
    pub fn read(path: &str, source: io::Error) -> Self {
        Error::Read { path: path.to_string(), source }
    }

    /// `path` could not be written.
    pub fn write(path: &str, source: io::Error) -> Self {
        Error::Write { path: path.to_string(), source }
    }

    /// The program's exit code for it: [`EXIT_BAD_INPUT`] or [`EXIT_NOT_POSSIBLE`].
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::BadInput { .. } | Error::BadArgument { .. } | Error::Read { .. } => {
                EXIT_BAD_INPUT
            }
            Error::Write { .. } | Error::NotPossible { .. } => EXIT_NOT_POSSIBLE,
        }
    }

    /// Whether the reader of our output has gone (`| head`): no error, just the end.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// A place in a file. `Display` is `FILE:LINE:COLUMN`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as it was named; `-` for standard input.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1, in bytes.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file =
            if self.file == "-" { "standard input".to_string() } else { printable(&self.file) };
        write!(f, "{file}:{}:{}", self.line, self.column)
    }
}

/// Longer input than this, in bytes, is cut when it is quoted.
const QUOTED_MAX: usize = 40;

/// `input` in single quotes on one line: control characters and what is not UTF-8 escaped, cut if
/// long.
pub fn quote(input: impl AsRef<[u8]>) -> String {
    let input = input.as_ref();
    let shown = &input[..input.len().min(QUOTED_MAX)];
    let mut text = String::from("'");
    for chunk in shown.utf8_chunks() {
        push_printable(&mut text, chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text.push('\'');
    if shown.len() < input.len() {
        text.push_str(&format!("... ({} bytes)", input.len()));
    }
    text
}

/// `text` on one line, control characters escaped.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_printable(&mut out, text);
    out
}

fn push_printable(out: &mut String, text: &str) {
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(b' '..=b'~') => out.push(c),
            Ok(b'\0') => out.push_str("\\0"),
            Ok(byte) if byte.is_ascii() => out.extend(byte.escape_ascii().map(char::from)),
            _ => out.extend(c.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_whatever_is_quoted() {
        let error =
            Error::bad_input("a\nb.ops", 3, 7, format!("bad {}", quote(b"x\n\0\xff")), "go");
        assert_eq!(error.to_string(), "a\\nb.ops:3:7: bad 'x\\n\\0\\xff'; go");
        assert_eq!(error.exit_code(), EXIT_BAD_INPUT);
    }

    #[test]
    fn long_input_is_cut() {
        let text = quote(vec![b'y'; 1 << 20]);
        assert!(text.len() < 80, "{text}");
        assert!(text.ends_with("... (1048576 bytes)"), "{text}");
    }

    #[test]
    fn a_closed_pipe_is_told_apart() {
        let closed = Error::write("standard output", io::Error::from(io::ErrorKind::BrokenPipe));
        let full = Error::write("standard output", io::Error::from(io::ErrorKind::StorageFull));
        assert!(closed.is_closed_pipe() && !full.is_closed_pipe());
        assert_eq!(full.exit_code(), EXIT_NOT_POSSIBLE);
    }
}
