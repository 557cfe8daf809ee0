// SPDX-License-Identifier: GPL-2.0-only
//! The text form of the operation language: bytes to [`Program`], and back ([`print`](print())).
//!
//! What a single line can tell is checked here (words, ranges, CPUs, times that go back). What
//! depends on the state, such as waking a task that is awake or naming one that does not exist, is
//! left to [`Class::check`](super::Class::check).

mod print;
mod statement;
mod words;

pub use print::{print, shown};

use super::{CgroupMode, Header, Names, Program, START_NS, Statement};
use crate::error::{Error, Result};
use sched_core::features::SchedFeat;
use statement::Args;
use words::{Fault, Line, Lines, Word, number, number_within, unknown};

/// The version of the language that is read and written here.
pub const VERSION: u64 = 1;
/// More CPUs than this are not described.
pub const CPUS_MAX: u64 = 512;
/// The tick rates that the kernel offers, in Hz.
pub const HZ: [u32; 4] = [100, 250, 300, 1000];

const MAGIC: &str = "fairlab-ops";
const HEADER_WORDS: [&str; 6] = [MAGIC, "cpus", "hz", "base_slice_ns", "features", "cgroup_mode"];

/// Checks `NAME` or `NO_NAME` against the features of v7.3; if it is none, says what is wrong and
/// what to do.
pub fn check_feature(word: &str) -> std::result::Result<(), (String, String)> {
    if SchedFeat::DEFAULT.change(word).is_some() {
        return Ok(());
    }
    let name = word.strip_prefix("NO_").unwrap_or(word);
    let known: Vec<&str> = SchedFeat::all().iter_names().map(|(name, _)| name).collect();
    let fault = unknown(Word { bytes: name.as_bytes(), column: 1 }, "feature", &known);
    Err((fault.what, fault.remedy))
}

/// Reads a whole file; `file` is its name for messages.
pub fn parse_program(file: &str, bytes: &[u8]) -> Result<Program> {
    match parse_prefix(file, bytes) {
        (program, None) => Ok(program),
        (_, Some(error)) => Err(error),
    }
}

/// Reads a file up to its first error: all that stands before it, and the error.
pub fn parse_prefix(file: &str, bytes: &[u8]) -> (Program, Option<Error>) {
    let mut reader = match Reader::new(file, bytes) {
        Ok(reader) => reader,
        Err(error) => return (Program::default(), Some(error)),
    };
    let mut statements = Vec::new();
    let mut failed = None;
    for statement in &mut reader {
        match statement {
            Ok(statement) => statements.push(statement),
            Err(error) => failed = Some(error),
        }
    }
    (Program { header: reader.header, names: reader.names, statements }, failed)
}

/// The statements of a file as they were written, by line number.
#[derive(Debug)]
pub struct Source<'a> {
    lines: Vec<&'a [u8]>,
}

impl<'a> Source<'a> {
    /// Finds the lines of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Source { lines: Lines::new(bytes).map(|line| line.trimmed()).collect() }
    }

    /// Line number `line` (counted from 1) without the blanks around it; nothing if there is no
    /// such line.
    pub fn line(&self, line: u32) -> Option<&'a [u8]> {
        self.lines.get((line as usize).checked_sub(1)?).copied()
    }
}

/// Reads a file statement by statement. Ends after the first error.
#[derive(Debug)]
pub struct Reader<'a> {
    file: &'a str,
    lines: Lines<'a>,
    /// The first statement's line, which ended the header.
    pending: Option<Line<'a>>,
    header: Header,
    names: Names,
    clock_ns: u64,
    failed: bool,
}

impl<'a> Reader<'a> {
    /// Reads the header of `bytes`, the contents of `file`.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Result<Self> {
        let mut lines = Lines::new(bytes);
        let mut header = HeaderReader::default();
        let mut last = 0;
        for line in &mut lines {
            last = line.number;
            match header.line(line.clone()) {
                Ok(true) => {}
                Ok(false) => return Ok(Reader::after(header.header, file, lines, Some(line))),
                Err(fault) => return Err(located(file, line.number, fault)),
            }
        }
        if header.lines_of[0] == 0 {
            let what = if last == 0 { "the file is empty" } else { "there is no statement in it" };
            return Err(located(file, 1, not_begun(1, what.to_string())));
        }
        Ok(Reader::after(header.header, file, lines, None))
    }

    fn after(
        header: Header,
        file: &'a str,
        lines: Lines<'a>,
        pending: Option<Line<'a>>,
    ) -> Reader<'a> {
        let names = Names::default();
        Reader { file, lines, pending, header, names, clock_ns: START_NS, failed: false }
    }

    /// The machine that the file describes.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The names that were met so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The statement in `line`; nothing if it is blank or a comment.
    fn statement(&mut self, mut line: Line<'a>) -> Option<std::result::Result<Statement, Fault>> {
        let word = line.first_word()?;
        let number = line.number;
        let args = Args::new(line, word, self.header.cpus, &mut self.names);
        Some(args.parse(&mut self.clock_ns).map(|op| Statement { op, line: number }))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Statement>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let line = self.pending.take().or_else(|| self.lines.next())?;
            let number = line.number;
            match self.statement(line) {
                None => {}
                Some(Ok(statement)) => return Some(Ok(statement)),
                Some(Err(fault)) => {
                    self.failed = true;
                    return Some(Err(located(self.file, number, fault)));
                }
            }
        }
        None
    }
}

fn located(file: &str, line: u32, fault: Fault) -> Error {
    Error::bad_input(file, line, fault.column, fault.what, fault.remedy)
}

fn not_begun(column: u32, what: String) -> Fault {
    let remedy = format!("an operation file begins with the line: {MAGIC} {VERSION}");
    Fault { column, what, remedy }
}

/// Reads header lines, each word at most once (but `features`, which adds up).
#[derive(Default)]
struct HeaderReader {
    header: Header,
    /// The line of each of [`HEADER_WORDS`]; 0 if it was not there.
    lines_of: [u32; HEADER_WORDS.len()],
}

impl HeaderReader {
    /// Takes in a line; false if it is no header line.
    fn line(&mut self, mut line: Line<'_>) -> std::result::Result<bool, Fault> {
        let Some(word) = line.first_word() else { return Ok(true) };
        let known = HEADER_WORDS.iter().position(|known| known.as_bytes() == word.bytes);
        if self.lines_of[0] == 0 && known != Some(0) {
            return Err(not_begun(word.column, format!("it begins with {}", word.quoted())));
        }
        let Some(known) = known else { return Ok(false) };
        let first = std::mem::replace(&mut self.lines_of[known], line.number);
        if first != 0 && HEADER_WORDS[known] != "features" {
            let what = format!("{} is given twice", HEADER_WORDS[known]);
            return Err(Fault::at(word, what, format!("drop one; the first is in line {first}")));
        }
        if HEADER_WORDS[known] == "features" {
            self.features(&mut line)?;
            return Ok(true);
        }
        let Some(value) = line.word() else {
            let what = format!("a value is missing after {}", HEADER_WORDS[known]);
            let remedy = "write the word and its value, like: cpus 1".to_string();
            return Err(Fault { column: line.end_column(), what, remedy });
        };
        self.value(HEADER_WORDS[known], value)?;
        match line.word() {
            None => Ok(true),
            Some(more) => Err(statement::surplus(more, HEADER_WORDS[known])),
        }
    }

    fn value(&mut self, name: &str, word: Word<'_>) -> std::result::Result<(), Fault> {
        let header = &mut self.header;
        match name {
            MAGIC => version(word)?,
            "cpus" => header.cpus = number_within(word, "cpus", 1, CPUS_MAX)? as u32,
            "hz" => header.hz = hz(word)?,
            "base_slice_ns" => {
                let slice = number_within(word, "base_slice_ns", 0, u64::from(u32::MAX))?;
                header.base_slice_ns = Some(slice as u32);
            }
            _ => header.cgroup_mode = cgroup_mode(word)?,
        }
        Ok(())
    }

    fn features(&mut self, line: &mut Line<'_>) -> std::result::Result<(), Fault> {
        while let Some(word) = line.word() {
            let text = String::from_utf8_lossy(word.bytes);
            check_feature(&text).map_err(|(what, remedy)| Fault::at(word, what, remedy))?;
            self.header.features.push(text.into_owned());
        }
        Ok(())
    }
}

fn version(word: Word<'_>) -> std::result::Result<(), Fault> {
    if number(word, "the version")? == VERSION {
        return Ok(());
    }
    let what = format!("version {} of the language is not known here", word.quoted());
    Err(Fault::at(word, what, format!("this program reads version {VERSION}")))
}

fn hz(word: Word<'_>) -> std::result::Result<u32, Fault> {
    let value = number(word, "hz")?;
    HZ.into_iter().find(|&hz| u64::from(hz) == value).ok_or_else(|| {
        let what = format!("hz {value} is no tick rate of the kernel");
        Fault::at(word, what, "use 100, 250, 300 or 1000")
    })
}

fn cgroup_mode(word: Word<'_>) -> std::result::Result<CgroupMode, Fault> {
    let known = CgroupMode::ALL.map(CgroupMode::word);
    let at = known.iter().position(|known| known.as_bytes() == word.bytes);
    at.map(|at| CgroupMode::ALL[at]).ok_or_else(|| unknown(word, "cgroup mode", &known))
}
