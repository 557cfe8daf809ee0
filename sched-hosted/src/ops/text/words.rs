// SPDX-License-Identifier: GPL-2.0-only
//! Lines, words and numbers: the lowest layer of the `.ops` parser. It knows columns, but no
//! statements.

use crate::error::quote;

/// What is wrong in a line, before file and line number are added.
#[derive(Debug)]
pub(super) struct Fault {
    /// Counted from 1, in bytes.
    pub column: u32,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Fault {
    pub fn at(word: Word<'_>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Fault { column: word.column, what: what.into(), remedy: remedy.into() }
    }
}

/// A word and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub bytes: &'a [u8],
    pub column: u32,
}

impl Word<'_> {
    /// The word as it stands in a message.
    pub fn quoted(&self) -> String {
        quote(self.bytes)
    }
}

/// The lines of a file, with a cursor. Both `\n` and `\r\n` end a line; the last may lack either.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: u32,
}

impl<'a> Lines<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Lines { rest: bytes, number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&b| b == b'\n');
        let line = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        self.number = self.number.saturating_add(1);
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        Some(Line { text, number: self.number, at: 0 })
    }
}

/// One line, read word by word.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    text: &'a [u8],
    /// Counted from 1.
    pub number: u32,
    at: usize,
}

impl<'a> Line<'a> {
    /// The next word, if there is one.
    pub fn word(&mut self) -> Option<Word<'a>> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.iter().position(|&b| !is_blank(b))?;
        let length = self.text[start..].iter().position(|&b| is_blank(b));
        self.at = length.map_or(self.text.len(), |length| start + length);
        Some(Word { bytes: &self.text[start..self.at], column: column(start) })
    }

    /// The first word, unless the line is blank or a comment.
    pub fn first_word(&mut self) -> Option<Word<'a>> {
        self.word().filter(|word| word.bytes[0] != b'#')
    }

    /// The column after the line's last character: where a missing word would stand.
    pub fn end_column(&self) -> u32 {
        column(self.text.len())
    }

    /// The whole line, without blanks around it.
    pub fn trimmed(&self) -> &'a [u8] {
        self.text.trim_ascii()
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn column(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(1)
}

/// A decimal number of up to 64 bits, without a sign.
pub(super) fn number(word: Word<'_>, what: &str) -> Result<u64, Fault> {
    if !word.bytes.iter().all(u8::is_ascii_digit) {
        let remedy = format!("write {what} in decimal digits only");
        return Err(Fault::at(word, format!("{} is not a number", word.quoted()), remedy));
    }
    let value = word
        .bytes
        .iter()
        .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    value.ok_or_else(|| {
        let what = format!("{what} {} is beyond 64 bits", word.quoted());
        Fault::at(word, what, format!("the largest number is {}", u64::MAX))
    })
}

/// A number from `low` to `high`, both included.
pub(super) fn number_within(word: Word<'_>, what: &str, low: u64, high: u64) -> Result<u64, Fault> {
    let value = number(word, what)?;
    if value < low || value > high {
        let remedy = match high {
            u64::MAX => format!("use {low} or more"),
            _ => format!("use {low} to {high}"),
        };
        return Err(Fault::at(word, format!("{what} {value} is out of range"), remedy));
    }
    Ok(value)
}

/// A signed number from `low` to `high`, both included.
pub(super) fn signed_within(word: Word<'_>, what: &str, low: i32, high: i32) -> Result<i32, Fault> {
    let (negative, digits) = match word.bytes {
        [b'-', digits @ ..] if !digits.is_empty() => (true, digits),
        digits => (false, digits),
    };
    // A word that is no number has no range; one that is beyond 64 bits is out of every range.
    let magnitude = number(Word { bytes: digits, ..word }, what)
        .map_err(|fault| Fault { remedy: format!("use {low} to {high}"), ..fault })?;
    let value = i32::try_from(magnitude).ok().map(|value| if negative { -value } else { value });
    value.filter(|value| (low..=high).contains(value)).ok_or_else(|| {
        let what = format!("{what} {} is out of range", word.quoted());
        Fault::at(word, what, format!("use {low} to {high}"))
    })
}

/// The candidate that `word` is most likely meant to be, if one is near.
pub(super) fn nearest<'c>(
    word: &[u8],
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    const LONGEST: usize = 24;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let near = |known: &str| distance(&word, &known.to_ascii_lowercase().into_bytes());
    let (best, far) =
        candidates.into_iter().map(|known| (known, near(known))).min_by_key(|&(_, far)| far)?;
    (far <= 2 && far < word.len() && far < best.len()).then_some(best)
}

/// How many letters must be inserted, deleted or replaced to make `b` of `a`.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// "unknown WHAT 'word'", with the nearest and all that are known.
pub(super) fn unknown(word: Word<'_>, what: &str, known: &[&str]) -> Fault {
    let all = format!("known are: {}", known.join(" "));
    let remedy = match nearest(word.bytes, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? {all}"),
        None => all,
    };
    Fault::at(word, format!("unknown {what} {}", word.quoted()), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Word<'_> {
        Word { bytes: text.as_bytes(), column: 1 }
    }

    #[test]
    fn words_and_columns() {
        let mut line = Lines::new(b"\t wake  a \tsync\r\n").next().unwrap();
        let words: Vec<_> = std::iter::from_fn(|| line.word())
            .map(|w| (w.column, String::from_utf8_lossy(w.bytes).into_owned()))
            .collect();
        assert_eq!(words, [(3, "wake".into()), (9, "a".into()), (12, "sync".into())]);
        assert_eq!(line.end_column(), 16);
    }

    #[test]
    fn numbers_at_their_limits() {
        assert_eq!(number(word("18446744073709551615"), "T").unwrap(), u64::MAX);
        assert!(number(word("18446744073709551616"), "T").unwrap_err().what.contains("64 bits"));
        assert!(number(word("-1"), "T").unwrap_err().what.contains("not a number"));
        assert!(number(word("1_000"), "T").is_err());
        assert_eq!(signed_within(word("-20"), "nice", -20, 19).unwrap(), -20);
        assert!(signed_within(word("-21"), "nice", -20, 19).is_err());
        assert!(signed_within(word("-"), "nice", -20, 19).is_err());
        assert!(signed_within(word("--1"), "nice", -20, 19).is_err());
        assert!(signed_within(word("99999999999999999999"), "nice", -20, 19).is_err());
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["wake", "new", "tick", "block"];
        assert_eq!(nearest(b"wkae", known), Some("wake"));
        assert_eq!(nearest(b"TICK", known), Some("tick"));
        assert_eq!(nearest(b"schedule", known), None);
        assert_eq!(nearest(b"x", known), None);
    }
}
