// SPDX-License-Identifier: GPL-2.0-only
//! A state as text, and the hashes of that text.
//!
//! A state has two texts, one for each [`Part`]; they and their 64-bit FNV-1a hashes are how this
//! crate's classes are compared with the kernel's own code, operation by operation. [`write_text`]
//! makes a text, [`Digester`] its hash without making it, [`State`] keeps the fields as values so
//! that two sides can be compared, and [`pretty`](pretty()) shows them to people.

mod fnv;
mod pretty;
mod state;

pub use pretty::pretty;
pub use state::{
    Difference, FieldDifference, ObjectState, State, first_difference, object_text, value_text,
};

use super::class::{Object, Part, Value, Visitor};
use super::{Class, GroupName, Names, TaskName};
use fnv::Fnv;
use std::fmt;

/// The hashes of the two texts of a state. `Display` is `core=%016x pelt=%016x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    /// 64-bit FNV-1a of the core text.
    pub core: u64,
    /// The same of the load-tracking text; none (`pelt=-`) where the class has no load tracking.
    pub pelt: Option<u64>,
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pelt {
            Some(pelt) => write!(f, "core={:016x} pelt={pelt:016x}", self.core),
            None => write!(f, "core={:016x} pelt=-", self.core),
        }
    }
}

/// Makes digests; keeps tables from one to the next, so use one for all states of a run.
#[derive(Debug, Default)]
pub struct Digester {
    fnv: Fnv,
}

impl Digester {
    /// A fresh one.
    pub fn new() -> Self {
        Digester::default()
    }

    /// The digest of the present state of `class`.
    pub fn digest(&mut self, class: &dyn Class) -> Digest {
        let core = self.part(class, Part::Core);
        let pelt = class.has_pelt().then(|| self.part(class, Part::Pelt));
        Digest { core, pelt }
    }

    fn part(&mut self, class: &dyn Class, part: Part) -> u64 {
        self.fnv.start();
        let mut form = Form::new(class.names(), part, &mut self.fnv);
        class.visit(part, &mut form);
        form.finish();
        self.fnv.hash()
    }
}

/// Appends the text of one part of the present state of `class` to `out`.
pub fn write_text(class: &dyn Class, part: Part, out: &mut Vec<u8>) {
    let mut form = Form::new(class.names(), part, out);
    class.visit(part, &mut form);
    form.finish();
}

/// Where the bytes of a text go.
trait Sink {
    /// Any bytes.
    fn bytes(&mut self, bytes: &[u8]);
    /// A field's name with the blank before it and the `=` after it.
    fn field_name(&mut self, name: &'static str);
}

impl Sink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn field_name(&mut self, name: &'static str) {
        self.push(b' ');
        self.extend_from_slice(name.as_bytes());
        self.push(b'=');
    }
}

/// Brings the fields into the form of the texts: the one place that knows it.
struct Form<'a, S> {
    names: &'a Names,
    part: Part,
    sink: &'a mut S,
    /// A line has been begun.
    open: bool,
}

impl<'a, S: Sink> Form<'a, S> {
    fn new(names: &'a Names, part: Part, sink: &'a mut S) -> Self {
        Form { names, part, sink, open: false }
    }

    /// Ends the last line.
    fn finish(mut self) {
        self.end();
    }

    fn number(&mut self, number: u64) {
        self.sink.bytes(itoa::Buffer::new().format(number).as_bytes());
    }

    fn cpu_and_path(&mut self, word: &'static str, cpu: u32, group: GroupName) {
        self.sink.bytes(word.as_bytes());
        self.number(u64::from(cpu));
        self.sink.bytes(b" ");
        self.sink.bytes(self.names.group_text(group).as_bytes());
    }

    fn task(&mut self, task: Option<TaskName>, none: &'static [u8]) {
        match task {
            Some(task) => self.sink.bytes(self.names.task_text(task).as_bytes()),
            None => self.sink.bytes(none),
        }
    }
}

impl<S: Sink> Visitor for Form<'_, S> {
    fn object(&mut self, object: Object) {
        self.end();
        self.open = true;
        if self.part == Part::Pelt {
            self.sink.bytes(b"pelt ");
        }
        match object {
            Object::Rq(cpu) => {
                self.sink.bytes(b"rq ");
                self.number(u64::from(cpu));
            }
            Object::Cfs(cpu, group) => self.cpu_and_path("cfs ", cpu, group),
            Object::Gse(cpu, group) => self.cpu_and_path("gse ", cpu, group),
            Object::Task(task) => {
                self.sink.bytes(b"task ");
                self.task(Some(task), b"");
            }
        }
    }

    fn field(&mut self, name: &'static str, value: Value) {
        self.sink.field_name(name);
        match value {
            Value::U64(0) | Value::I64(0) | Value::Bool(false) => self.sink.bytes(b"0"),
            Value::Bool(true) => self.sink.bytes(b"1"),
            Value::U64(number) => self.number(number),
            Value::I64(number) => self.sink.bytes(itoa::Buffer::new().format(number).as_bytes()),
            Value::Task(task) => self.task(task, b"-"),
            Value::Current(task) => self.task(task, b"idle"),
            Value::Group(group) => self.sink.bytes(self.names.group_text(group).as_bytes()),
            Value::Word(word) => self.sink.bytes(word.as_bytes()),
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            self.sink.bytes(b"\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::mock::Mock;
    use crate::ops::text::parse_program;

    fn after(text: &str) -> Mock {
        let program = parse_program("t.ops", format!("fairlab-ops 1\n{text}").as_bytes())
            .expect("the test's program is good");
        let mut class = Mock::new(&program.names);
        for statement in &program.statements {
            class.apply(&statement.op).expect("the test's statements are legal");
        }
        class
    }

    fn text(class: &Mock, part: Part) -> String {
        let mut out = Vec::new();
        write_text(class, part, &mut out);
        String::from_utf8(out).expect("it is ASCII")
    }

    fn fnv1a(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    const TWO: &str = "task a nice -5\ntask b\nnew a\nnew b\nschedule 0\nat 2500000\nschedule 0\n";

    #[test]
    fn the_texts() {
        let class = after(TWO);
        assert_eq!(
            text(&class, Part::Core),
            "rq 0 clock=2500000 resched=none curr=b\ncfs 0 / first=a h_curr=/\n\
             task a on_rq=1 nice=-5 ran=1500000\ntask b on_rq=1 nice=0 ran=0\n"
        );
        assert!(
            text(&class, Part::Pelt).starts_with("pelt rq 0 clock=2500000\npelt task a on_rq=1")
        );
        assert!(text(&after("task a\n"), Part::Core).contains("curr=idle\ncfs 0 / first=- "));
    }

    #[test]
    fn the_digest_is_the_hash_of_the_texts() {
        let mut digester = Digester::new();
        for program in ["", "task a\n", TWO, "at 5000000\n"] {
            let class = after(program);
            let digest = digester.digest(&class);
            assert_eq!(digest.core, fnv1a(&text(&class, Part::Core)));
            let pelt = class.has_pelt().then(|| fnv1a(&text(&class, Part::Pelt)));
            assert_eq!(digest.pelt, pelt);
        }
        let digest = Digest { core: 0xabc, pelt: None };
        assert_eq!(digest.to_string(), "core=0000000000000abc pelt=-");
        let digest = Digest { core: 1, pelt: Some(2) };
        assert_eq!(digest.to_string(), "core=0000000000000001 pelt=0000000000000002");
    }

    #[test]
    fn the_first_difference() {
        let class = after(TWO);
        assert_eq!(first_difference(&State::of(&class), &State::of(&class)), None);
        let other =
            after(&format!("{TWO}at 2500007\nnice a 3\ntask c\nupdate-curr 0\nschedule 0\n"));
        let names = other.names().clone();
        let difference =
            first_difference(&State::of(&class), &State::of(&other)).expect("they differ");
        assert_eq!(difference.object, Object::Rq(0));
        assert_eq!(difference.others, 8, "cfs, a, b and c of the core part, and rq, a, b, c");
        let shown = difference.shown(&names, "base", "patch").to_string();
        let expected = "\
rq 0
              base    patch
    clock  2500000  2500007  +7
    curr         b        a
    (8 other objects differ too)";
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_object_on_one_side_only() {
        let (class, other) = (after("task a\n"), after("task a\ntask b\n"));
        let there = first_difference(&State::of(&class), &State::of(&other)).expect("b");
        assert_eq!((there.only_in_a, there.others), (Some(false), 0));
        let back = first_difference(&State::of(&other), &State::of(&class)).expect("b");
        assert_eq!(back.only_in_a, Some(true));
        let shown = back.shown(other.names(), "base", "patch").to_string();
        assert!(shown.starts_with("task b (there on base only)\n"), "{shown}");
        assert!(shown.contains("on_rq     0  (none)"), "{shown}");
    }
}
