// SPDX-License-Identifier: GPL-2.0-only
//! A state as values, and where two of them differ first.

use crate::ops::class::{Object, Part, Value, Visitor};
use crate::ops::{Class, Names};
use std::collections::BTreeMap;
use std::fmt;

/// An object's fields, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectState {
    /// Which part of the state it stands in: an object has fields in both.
    pub part: Part,
    /// What it is.
    pub object: Object,
    /// Its fields' names and values.
    pub fields: Vec<(&'static str, Value)>,
}

/// All objects of a state with their fields, in the order of the texts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    objects: Vec<ObjectState>,
}

impl State {
    /// The present state of `class`: the core part, then load tracking if the class has it.
    pub fn of(class: &dyn Class) -> Self {
        let mut state = State::of_part(class, Part::Core);
        if class.has_pelt() {
            state.objects.extend(State::of_part(class, Part::Pelt).objects);
        }
        state
    }

    /// One part of the present state of `class`.
    pub fn of_part(class: &dyn Class, part: Part) -> Self {
        let mut collector = Collector { part, state: State::default() };
        class.visit(part, &mut collector);
        collector.state
    }

    /// The objects, in the order of the texts.
    pub fn objects(&self) -> &[ObjectState] {
        &self.objects
    }

    /// All fields, one by one.
    pub fn fields(&self) -> impl Iterator<Item = (Object, &'static str, Value)> + '_ {
        self.objects.iter().flat_map(|object| {
            object.fields.iter().map(|&(name, value)| (object.object, name, value))
        })
    }
}

struct Collector {
    part: Part,
    state: State,
}

impl Visitor for Collector {
    fn object(&mut self, object: Object) {
        self.state.objects.push(ObjectState { part: self.part, object, fields: Vec::new() });
    }

    fn field(&mut self, name: &'static str, value: Value) {
        if let Some(object) = self.state.objects.last_mut() {
            object.fields.push((name, value));
        }
    }
}

/// A field that two sides disagree on; none where a side does not have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldDifference {
    /// The field's name.
    pub name: &'static str,
    /// Its value on the first side.
    pub a: Option<Value>,
    /// Its value on the second side.
    pub b: Option<Value>,
}

/// The first object in which two states differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The part of the state.
    pub part: Part,
    /// The object.
    pub object: Object,
    /// All its fields that differ, in order.
    pub fields: Vec<FieldDifference>,
    /// It exists on the first side only (true) or on the second side only (false).
    pub only_in_a: Option<bool>,
    /// How many other objects differ too.
    pub others: usize,
}

/// Compares two states of machines that were given the same operations (so that names mean the
/// same).
pub fn first_difference(a: &State, b: &State) -> Option<Difference> {
    let index = |state: &State| -> BTreeMap<_, _> {
        let key = |object: &ObjectState| sort_key(object.part, object.object);
        state.objects.iter().enumerate().map(|(at, object)| (key(object), at)).collect()
    };
    let (in_a, in_b) = (index(a), index(b));
    let mut first: Option<Difference> = None;
    let mut differing = 0;
    let only_in_b = b.objects.iter().filter(|o| !in_a.contains_key(&sort_key(o.part, o.object)));
    for object in a.objects.iter().chain(only_in_b) {
        let key = sort_key(object.part, object.object);
        let side_a = in_a.get(&key).map(|&at| &a.objects[at]);
        let side_b = in_b.get(&key).map(|&at| &b.objects[at]);
        if side_a.map(|object| &object.fields) == side_b.map(|object| &object.fields) {
            continue;
        }
        differing += 1;
        first.get_or_insert_with(|| difference(object, side_a, side_b));
    }
    first.map(|difference| Difference { others: differing - 1, ..difference })
}

pub(super) fn sort_key(part: Part, object: Object) -> (u8, u8, u32, u32) {
    let (kind, cpu, name) = match object {
        Object::Rq(cpu) => (0, cpu, 0),
        Object::Cfs(cpu, group) => (1, cpu, group.0),
        Object::Gse(cpu, group) => (2, cpu, group.0),
        Object::Task(task) => (3, 0, task.0),
    };
    (u8::from(part == Part::Pelt), kind, cpu, name)
}

fn difference(
    object: &ObjectState,
    a: Option<&ObjectState>,
    b: Option<&ObjectState>,
) -> Difference {
    let value = |side: Option<&ObjectState>, name: &str| {
        side?.fields.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    };
    let mut names: Vec<&'static str> = Vec::new();
    for side in [a, b].into_iter().flatten() {
        for (name, _) in &side.fields {
            if !names.contains(name) {
                names.push(name);
            }
        }
    }
    let fields = names
        .into_iter()
        .map(|name| FieldDifference { name, a: value(a, name), b: value(b, name) })
        .filter(|field| field.a != field.b)
        .collect();
    let only_in_a = (a.is_some() != b.is_some()).then_some(a.is_some());
    Difference { part: object.part, object: object.object, fields, only_in_a, others: 0 }
}

impl Difference {
    /// The object in words, as the texts name it.
    pub fn object_text(&self, names: &Names) -> String {
        object_text(self.part, self.object, names)
    }

    /// A small table, with the sides called `a` and `b`.
    pub fn shown<'d>(
        &'d self,
        names: &'d Names,
        a: &'d str,
        b: &'d str,
    ) -> impl fmt::Display + use<'d> {
        Shown { difference: self, names, a, b }
    }
}

/// An object as the texts name it.
pub fn object_text(part: Part, object: Object, names: &Names) -> String {
    let pelt = if part == Part::Pelt { "pelt " } else { "" };
    match object {
        Object::Rq(cpu) => format!("{pelt}rq {cpu}"),
        Object::Cfs(cpu, group) => format!("{pelt}cfs {cpu} {}", names.group_text(group)),
        Object::Gse(cpu, group) => format!("{pelt}gse {cpu} {}", names.group_text(group)),
        Object::Task(task) => format!("{pelt}task {}", names.task_text(task)),
    }
}

/// A value as the texts show it.
pub fn value_text(value: Value, names: &Names) -> String {
    match value {
        Value::U64(number) => number.to_string(),
        Value::I64(number) => number.to_string(),
        Value::Bool(flag) => u8::from(flag).to_string(),
        Value::Task(task) => task.map_or("-", |task| names.task_text(task)).to_string(),
        Value::Current(task) => task.map_or("idle", |task| names.task_text(task)).to_string(),
        Value::Group(group) => names.group_text(group).to_string(),
        Value::Word(word) => word.to_string(),
    }
}

struct Shown<'d> {
    difference: &'d Difference,
    names: &'d Names,
    a: &'d str,
    b: &'d str,
}

impl Shown<'_> {
    /// By how much the second side is above the first, for numbers that wrap.
    fn distance(field: &FieldDifference) -> String {
        let distance = match (field.a, field.b) {
            (Some(Value::U64(a)), Some(Value::U64(b))) => b.wrapping_sub(a) as i64,
            (Some(Value::I64(a)), Some(Value::I64(b))) => b.wrapping_sub(a),
            _ => return String::new(),
        };
        format!("{distance:+}")
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.difference.object_text(self.names);
        match self.difference.only_in_a {
            Some(true) => writeln!(f, "{object} (there on {} only)", self.a)?,
            Some(false) => writeln!(f, "{object} (there on {} only)", self.b)?,
            None => writeln!(f, "{object}")?,
        }
        let text = |value: Option<Value>| {
            value.map_or_else(|| "(none)".to_string(), |value| value_text(value, self.names))
        };
        let mut rows = vec![[String::new(), self.a.into(), self.b.into(), String::new()]];
        for field in &self.difference.fields {
            rows.push([field.name.into(), text(field.a), text(field.b), Self::distance(field)]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        for [name, a, b, distance] in &rows {
            let [w0, w1, w2, w3] = widths;
            let line = format!("    {name:w0$}  {a:>w1$}  {b:>w2$}  {distance:>w3$}");
            writeln!(f, "{}", line.trim_end())?;
        }
        match self.difference.others {
            0 => write!(f, "    (no other object differs)"),
            1 => write!(f, "    (1 other object differs too)"),
            others => write!(f, "    ({others} other objects differ too)"),
        }
    }
}
