// SPDX-License-Identifier: GPL-2.0-only
//! Rust text without its comments and the contents of its strings, line by line.

/// A line of a Rust file, taken apart.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct CodeLine {
    /// What the compiler sees, with strings emptied.
    pub code: String,
    /// What stands in comments.
    pub comment: String,
}

enum State {
    Code,
    Line,
    Block(u32),
    Str,
    Raw(usize),
}

/// Takes `text` apart.
pub fn split(text: &str) -> Vec<CodeLine> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![CodeLine::default()];
    let mut state = State::Code;
    let mut at = 0;
    while at < chars.len() {
        let (c, rest) = (chars[at], &chars[at + 1..]);
        let next = rest.first().copied().unwrap_or('\0');
        if c == '\n' {
            if matches!(state, State::Line) {
                state = State::Code;
            }
            lines.push(CodeLine::default());
            at += 1;
            continue;
        }
        let Some(line) = lines.last_mut() else { break };
        let mut step = 1;
        match state {
            State::Code => match (c, next) {
                ('/', '/') => state = State::Line,
                ('/', '*') => (state, step) = (State::Block(1), 2),
                ('"', _) => {
                    line.code.push('"');
                    state = State::Str;
                }
                ('r', '"' | '#') if !ends_in_word(&line.code) => match raw_hashes(rest) {
                    Some(hashes) => {
                        line.code.push('"');
                        (state, step) = (State::Raw(hashes), hashes + 2);
                    }
                    None => line.code.push(c),
                },
                ('\'', '\\') => step = 3 + rest[2..].iter().take_while(|&&c| c != '\'').count(),
                ('\'', _) if rest.get(1) == Some(&'\'') => step = 3,
                _ => line.code.push(c),
            },
            State::Line => line.comment.push(c),
            State::Block(depth) => match (c, next) {
                ('*', '/') if depth == 1 => (state, step) = (State::Code, 2),
                ('*', '/') => (state, step) = (State::Block(depth - 1), 2),
                ('/', '*') => (state, step) = (State::Block(depth + 1), 2),
                _ => line.comment.push(c),
            },
            State::Str => match c {
                '\\' if next != '\n' => step = 2,
                '"' => {
                    line.code.push('"');
                    state = State::Code;
                }
                _ => {}
            },
            State::Raw(hashes) => {
                if c == '"' && rest.iter().take(hashes).filter(|&&c| c == '#').count() == hashes {
                    line.code.push('"');
                    (state, step) = (State::Code, hashes + 1);
                }
            }
        }
        at += step;
    }
    lines
}

fn ends_in_word(code: &str) -> bool {
    code.chars().next_back().is_some_and(is_word)
}

/// How many `#` stand before the `"` of a raw string that begins here.
fn raw_hashes(rest: &[char]) -> Option<usize> {
    let hashes = rest.iter().take_while(|&&c| c == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some(hashes)
}

/// Whether `c` may stand in an identifier.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The identifiers and numbers of a line of code, in order.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

/// Whether a literal with a decimal point stands in a line of code. A field of a field (`x.0.1`) is none.
pub fn has_float_literal(code: &str) -> bool {
    let bytes = code.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (1..bytes.len()).any(|at| {
        if bytes[at] != b'.' || !digit(at - 1) || !digit(at + 1) {
            return false;
        }
        let before = code[..at].trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        !before.ends_with(|c: char| is_word(c) || c == '.')
    })
}
