// SPDX-License-Identifier: GPL-2.0-only
//! What a page is made from: every field by its name, the tree of groups, and who is where.

use crate::ops::class::{Object, Part, TaskInfo, Value};
use crate::ops::digest::state::{State, sort_key, value_text};
use crate::ops::{Class, GroupName, Names, TaskName};
use std::collections::{BTreeMap, BTreeSet};

type Key = (u8, u8, u32, u32);
type Fields = Vec<(&'static str, Value)>;

/// A state, ready to be asked.
pub(super) struct Facts<'c> {
    pub names: &'c Names,
    fields: BTreeMap<Key, Fields>,
    tasks: BTreeMap<TaskName, TaskInfo>,
    /// In order of creation.
    here: BTreeMap<(u32, GroupName), Vec<TaskName>>,
    /// In order of creation.
    below: BTreeMap<GroupName, Vec<GroupName>>,
    /// Groups with something to show on that CPU, and all above them.
    used: BTreeSet<(u32, GroupName)>,
}

impl<'c> Facts<'c> {
    pub fn of(class: &'c dyn Class) -> Self {
        let state = State::of(class);
        let fields = state.objects().iter();
        let fields = fields.map(|o| (sort_key(o.part, o.object), o.fields.clone())).collect();
        let mut facts = Facts {
            names: class.names(),
            fields,
            tasks: BTreeMap::new(),
            here: BTreeMap::new(),
            below: BTreeMap::new(),
            used: BTreeSet::new(),
        };
        facts.place_tasks(class);
        facts.place_groups(class);
        facts
    }

    fn place_tasks(&mut self, class: &dyn Class) {
        for name in class.tasks() {
            if let Some(task) = class.task(name) {
                self.tasks.insert(name, task);
                self.here.entry((task.cpu, task.group)).or_default().push(name);
            }
        }
    }

    fn place_groups(&mut self, class: &dyn Class) {
        let names = self.names;
        let by_path: BTreeMap<&str, GroupName> =
            class.groups().into_iter().map(|group| (names.group_text(group), group)).collect();
        let mut above = BTreeMap::new();
        for group in class.groups() {
            let path = names.group_text(group);
            if let Some((parent, _)) = path.rsplit_once('/').filter(|_| group != GroupName::ROOT) {
                let parent = by_path.get(parent).copied().unwrap_or(GroupName::ROOT);
                self.below.entry(parent).or_default().push(group);
                above.insert(group, parent);
            }
        }
        for cpu in 0..class.nr_cpus() {
            for group in class.groups() {
                if class.nr_cpus() == 1 || self.has_something(cpu, group) {
                    let path =
                        std::iter::successors(Some(group), |group| above.get(group).copied());
                    self.used.extend(path.map(|group| (cpu, group)));
                }
            }
        }
    }

    fn has_something(&self, cpu: u32, group: GroupName) -> bool {
        let fields = ["nr_queued", "throttled", "throttle_count", "runtime_remaining"];
        let number = |name: &str| self.number(Part::Core, Object::Cfs(cpu, group), name);
        self.here.contains_key(&(cpu, group))
            || fields.into_iter().any(|name| number(name).is_some_and(|number| number != 0))
    }

    /// A field's value; none where the class does not have it.
    pub fn get(&self, part: Part, object: Object, name: &str) -> Option<Value> {
        let fields = self.fields.get(&sort_key(part, object))?;
        fields.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// A number; virtual times wrap, so the upper half of 64 bits is negative.
    pub fn number(&self, part: Part, object: Object, name: &str) -> Option<i64> {
        match self.get(part, object, name)? {
            Value::U64(number) => Some(number as i64),
            Value::I64(number) => Some(number),
            Value::Bool(flag) => Some(i64::from(flag)),
            _ => None,
        }
    }

    pub fn text(&self, value: Value) -> String {
        value_text(value, self.names)
    }

    pub fn task(&self, name: TaskName) -> Option<&TaskInfo> {
        self.tasks.get(&name)
    }

    pub fn tasks_of(&self, cpu: u32, group: GroupName) -> &[TaskName] {
        self.here.get(&(cpu, group)).map_or(&[], Vec::as_slice)
    }

    pub fn children_of(&self, group: GroupName) -> &[GroupName] {
        self.below.get(&group).map_or(&[], Vec::as_slice)
    }

    pub fn is_used(&self, cpu: u32, group: GroupName) -> bool {
        self.used.contains(&(cpu, group))
    }

    /// How many groups there are from `group` down.
    pub fn nr_below(&self, group: GroupName) -> u32 {
        1 + self.children_of(group).iter().map(|&below| self.nr_below(below)).sum::<u32>()
    }

    /// The average of the flat tree of `cpu`, if somebody competes there.
    pub fn average(&self, cpu: u32) -> Option<Average> {
        let root = Object::Cfs(cpu, GroupName::ROOT);
        let number = |name: &str| self.number(Part::Core, root, name);
        let mut average = Average {
            sum: i128::from(number("sum_w_vruntime")?),
            weight: i128::from(number("sum_weight")?),
            zero: number("zero_vruntime")?,
        };
        if let Some(Value::Task(Some(curr))) = self.get(Part::Core, root, "curr") {
            let number = |name: &str| self.number(Part::Core, Object::Task(curr), name);
            if number("se.on_rq") == Some(1) {
                let shift = self.number(Part::Core, root, "sum_shift").unwrap_or(0);
                average.add(number("vruntime")?, number("h_load")?, shift);
            }
        }
        (average.weight > 0).then_some(average)
    }
}

/// The sums behind V, the running task included.
#[derive(Clone, Copy)]
pub(super) struct Average {
    sum: i128,
    weight: i128,
    zero: i64,
}

impl Average {
    fn add(&mut self, vruntime: i64, weight: i64, shift: i64) {
        let weight = if shift == 0 { weight } else { (weight >> shift).max(2) };
        self.sum += i128::from(vruntime.wrapping_sub(self.zero)) * i128::from(weight);
        self.weight += i128::from(weight);
    }

    /// V: virtual ns, absolute, wraps.
    pub fn vruntime(self) -> i64 {
        self.zero.wrapping_add(self.sum.div_euclid(self.weight) as i64)
    }

    pub fn is_eligible(self, vruntime: i64) -> bool {
        self.sum >= i128::from(vruntime.wrapping_sub(self.zero)) * self.weight
    }
}
