// SPDX-License-Identifier: GPL-2.0-only
//! One statement: its words, their ranges, and what is said when one is wrong.

use super::words::{Fault, Line, Word, number, number_within, signed_within, unknown};
use super::{HEADER_WORDS, MAGIC};
use crate::ops::{GroupName, Names, Op, Policy, TaskName};

/// Each statement's first word and its form.
#[rustfmt::skip]
const FORMS: [(&str, &str); 23] = [
    ("at", "at T"),
    ("group", "group PATH [shares N]"),
    ("task", "task NAME [cpu C] [nice N] [policy normal|batch|idle] [slice NS] [group PATH]"),
    ("new", "new NAME"),
    ("wake", "wake NAME [sync] [cpu C]"),
    ("schedule", "schedule C"),
    ("block", "block C"),
    ("exit", "exit C"),
    ("tick", "tick C"),
    ("yield", "yield C"),
    ("yield-to", "yield-to C NAME"),
    ("nice", "nice NAME N"),
    ("param", "param NAME policy P nice N slice NS"),
    ("move", "move NAME PATH"),
    ("shares", "shares PATH N"),
    ("group-idle", "group-idle PATH 0|1"),
    ("quota", "quota PATH PERIOD_US QUOTA_US|max"),
    ("timers", "timers"),
    ("user-return", "user-return C"),
    ("migrate", "migrate NAME C"),
    ("update-curr", "update-curr C"),
    ("update-blocked", "update-blocked C"),
    ("finish-delayed", "finish-delayed NAME"),
];

const NICE_MIN: i32 = -20;
const NICE_MAX: i32 = 19;
const NAME_MAX: usize = 31;
/// The kernel's limits of cpu.max, us.
const PERIOD_MIN_US: u64 = 1_000;
const PERIOD_MAX_US: u64 = 1_000_000;
const QUOTA_MIN_US: u64 = 1_000;
/// Runtime is kept in 64 bits less the 20 of a bandwidth ratio.
const QUOTA_MAX_US: u64 = (1 << 44) - 1;

type Parsed<T> = Result<T, Fault>;

/// "there is a word too many".
pub(super) fn surplus(word: Word<'_>, form: &str) -> Fault {
    let what = format!("unexpected word {}", word.quoted());
    Fault::at(word, what, format!("drop it; the form is: {form}"))
}

/// A statement being read: the words left of its line, and what they are checked against.
pub(super) struct Args<'l, 'n> {
    line: Line<'l>,
    word: Word<'l>,
    cpus: u32,
    names: &'n mut Names,
}

impl<'l, 'n> Args<'l, 'n> {
    /// `line`, after its first `word`, on a machine of `cpus` CPUs.
    pub fn new(line: Line<'l>, word: Word<'l>, cpus: u32, names: &'n mut Names) -> Self {
        Args { line, word, cpus, names }
    }

    /// The statement. `clock_ns` is the clock before it, and moves with `at`.
    pub fn parse(mut self, clock_ns: &mut u64) -> Parsed<Op> {
        let op = self.op(clock_ns)?;
        match self.line.word() {
            None => Ok(op),
            Some(more) => Err(surplus(more, self.form())),
        }
    }

    /// How the statement is written, for messages.
    fn form(&self) -> &'static str {
        let form = FORMS.iter().find(|(name, _)| name.as_bytes() == self.word.bytes);
        form.map_or("", |(_, form)| form)
    }

    #[rustfmt::skip]
    fn op(&mut self, clock_ns: &mut u64) -> Parsed<Op> {
        Ok(match self.word.bytes {
            b"at" => self.at(clock_ns)?,
            b"group" => self.group()?,
            b"task" => self.task()?,
            b"new" => Op::New { task: self.name()? },
            b"wake" => self.wake()?,
            b"schedule" => Op::Schedule { cpu: self.cpu()? },
            b"block" => Op::Block { cpu: self.cpu()? },
            b"exit" => Op::Exit { cpu: self.cpu()? },
            b"tick" => Op::Tick { cpu: self.cpu()? },
            b"yield" => Op::Yield { cpu: self.cpu()? },
            b"yield-to" => Op::YieldTo { cpu: self.cpu()?, task: self.name()? },
            b"nice" => Op::Nice { task: self.name()?, nice: self.nice()? },
            b"param" => self.param()?,
            b"move" => Op::Move { task: self.name()?, group: self.path()? },
            b"shares" => self.shares()?,
            b"group-idle" => self.group_idle()?,
            b"quota" => self.quota()?,
            b"timers" => Op::Timers,
            b"user-return" => Op::UserReturn { cpu: self.cpu()? },
            b"migrate" => Op::Migrate { task: self.name()?, cpu: self.cpu()? },
            b"update-curr" => Op::UpdateCurr { cpu: self.cpu()? },
            b"update-blocked" => Op::UpdateBlocked { cpu: self.cpu()? },
            b"finish-delayed" => Op::FinishDelayed { task: self.name()? },
            _ => return Err(no_statement(self.word)),
        })
    }

    fn at(&mut self, clock_ns: &mut u64) -> Parsed<Op> {
        let word = self.need("T")?;
        let ns = number(word, "the time")?;
        if ns < *clock_ns {
            let what = format!("time goes back: {ns} is before {clock_ns}");
            return Err(Fault::at(word, what, format!("use {clock_ns} or later")));
        }
        *clock_ns = ns;
        Ok(Op::At { ns })
    }

    fn group(&mut self) -> Parsed<Op> {
        let group = self.path_but_root("parent to be made in: it is there from the start")?;
        let mut shares = None;
        while let Some(word) = self.line.word() {
            match word.bytes {
                b"shares" => self.once(word, &mut shares, |args| args.number("shares"))?,
                _ => return Err(surplus(word, self.form())),
            }
        }
        Ok(Op::Group { group, shares })
    }

    fn task(&mut self) -> Parsed<Op> {
        let task = self.name()?;
        let (mut cpu, mut nice, mut policy, mut slice, mut group) = (None, None, None, None, None);
        while let Some(word) = self.line.word() {
            match word.bytes {
                b"cpu" => self.once(word, &mut cpu, Args::cpu)?,
                b"nice" => self.once(word, &mut nice, Args::nice)?,
                b"policy" => self.once(word, &mut policy, Args::policy)?,
                b"slice" => self.once(word, &mut slice, |args| args.number("the slice"))?,
                b"group" => self.once(word, &mut group, Args::path)?,
                _ => return Err(surplus(word, self.form())),
            }
        }
        Ok(Op::Task {
            task,
            cpu: cpu.unwrap_or(0),
            nice: nice.unwrap_or(0),
            policy: policy.unwrap_or_default(),
            slice_ns: slice.unwrap_or(0),
            group: group.unwrap_or(GroupName::ROOT),
        })
    }

    fn wake(&mut self) -> Parsed<Op> {
        let task = self.name()?;
        let (mut sync, mut cpu) = (None, None);
        while let Some(word) = self.line.word() {
            match word.bytes {
                b"sync" => self.once(word, &mut sync, |_| Ok(true))?,
                b"cpu" => self.once(word, &mut cpu, Args::cpu)?,
                _ => return Err(surplus(word, self.form())),
            }
        }
        Ok(Op::Wake { task, sync: sync.unwrap_or(false), cpu })
    }

    fn param(&mut self) -> Parsed<Op> {
        let task = self.name()?;
        self.keyword("policy")?;
        let policy = self.policy()?;
        self.keyword("nice")?;
        let nice = self.nice()?;
        self.keyword("slice")?;
        Ok(Op::Param { task, policy, nice, slice_ns: self.number("the slice")? })
    }

    fn shares(&mut self) -> Parsed<Op> {
        let group = self.path_but_root("shares")?;
        Ok(Op::Shares { group, shares: self.number("shares")? })
    }

    fn group_idle(&mut self) -> Parsed<Op> {
        let group = self.path_but_root("idle setting")?;
        Ok(Op::GroupIdle { group, idle: self.flag()? })
    }

    fn quota(&mut self) -> Parsed<Op> {
        let group = self.path_but_root("quota")?;
        let period = self.need("PERIOD_US")?;
        let period_us = number_within(period, "the period", PERIOD_MIN_US, PERIOD_MAX_US)?;
        let quota = self.need("QUOTA_US or max")?;
        let quota_us = match quota.bytes {
            b"max" => None,
            _ => Some(number_within(quota, "the quota", QUOTA_MIN_US, QUOTA_MAX_US)?),
        };
        Ok(Op::Quota { group, period_us, quota_us })
    }

    /// The next word, called `what` in the form.
    fn need(&mut self, what: &str) -> Parsed<Word<'l>> {
        self.line.word().ok_or_else(|| Fault {
            column: self.line.end_column(),
            what: format!("{what} is missing"),
            remedy: format!("the form is: {}", self.form()),
        })
    }

    /// An option's value into `slot`, which must still be free.
    fn once<T>(
        &mut self,
        option: Word<'l>,
        slot: &mut Option<T>,
        read: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<()> {
        if slot.is_some() {
            let what = format!("{} is given twice", option.quoted());
            return Err(Fault::at(option, what, "drop one of them"));
        }
        *slot = Some(read(self)?);
        Ok(())
    }

    fn keyword(&mut self, keyword: &str) -> Parsed<()> {
        let word = self.need(keyword)?;
        if word.bytes == keyword.as_bytes() {
            return Ok(());
        }
        let what = format!("{} stands where {keyword} is expected", word.quoted());
        Err(Fault::at(word, what, format!("the form is: {}", self.form())))
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        number(self.need("a number")?, what)
    }

    fn cpu(&mut self) -> Parsed<u32> {
        let word = self.need("the CPU")?;
        let cpu = number(word, "the CPU")?;
        if cpu >= u64::from(self.cpus) {
            let what = format!("there is no CPU {cpu}");
            let remedy = match self.cpus {
                1 => "use 0, or say more cpus in the header".to_string(),
                cpus => format!("use 0 to {}, or say more cpus in the header", cpus - 1),
            };
            return Err(Fault::at(word, what, remedy));
        }
        Ok(cpu as u32)
    }

    fn nice(&mut self) -> Parsed<i32> {
        signed_within(self.need("the nice value")?, "nice", NICE_MIN, NICE_MAX)
    }

    fn policy(&mut self) -> Parsed<Policy> {
        let word = self.need("the policy")?;
        let known = Policy::ALL.map(Policy::word);
        let at = known.iter().position(|known| known.as_bytes() == word.bytes);
        at.map(|at| Policy::ALL[at]).ok_or_else(|| unknown(word, "policy", &known))
    }

    fn flag(&mut self) -> Parsed<bool> {
        Ok(number_within(self.need("0 or 1")?, "the setting", 0, 1)? != 0)
    }

    fn name(&mut self) -> Parsed<TaskName> {
        let word = self.need("NAME")?;
        match std::str::from_utf8(word.bytes) {
            Ok(name) if is_name(word.bytes) => Ok(self.names.task(name)),
            _ => Err(no_name(word, "task name")),
        }
    }

    fn path(&mut self) -> Parsed<GroupName> {
        let word = self.need("PATH")?;
        let legal = match word.bytes {
            b"/" => true,
            [b'/', rest @ ..] => rest.split(|&b| b == b'/').all(is_name),
            _ => false,
        };
        match std::str::from_utf8(word.bytes) {
            Ok(path) if legal => Ok(self.names.group(path)),
            _ => Err(no_name(word, "group path")),
        }
    }

    fn path_but_root(&mut self, what: &str) -> Parsed<GroupName> {
        let before = self.line.clone();
        let group = self.path()?;
        if group == GroupName::ROOT {
            let word = { before }.word().unwrap_or(self.word);
            let what = format!("the root group has no {what}");
            return Err(Fault::at(word, what, "name another group, like /a"));
        }
        Ok(group)
    }
}

fn is_name(bytes: &[u8]) -> bool {
    let legal = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=NAME_MAX).contains(&bytes.len())
        && bytes.iter().all(legal)
        && !matches!(bytes, b"idle" | b"-")
}

fn no_name(word: Word<'_>, what: &str) -> Fault {
    let remedy = match what {
        "task name" => "a name is 1 to 31 of A-Z a-z 0-9 _ . - and neither idle nor -",
        _ => "a path is / or such names each behind a /, like /a/b",
    };
    Fault::at(word, format!("{} is no {what}", word.quoted()), remedy)
}

/// What to say of a first word that begins no statement.
fn no_statement(word: Word<'_>) -> Fault {
    if HEADER_WORDS.iter().any(|known| known.as_bytes() == word.bytes) {
        let what = format!("{} belongs to the header", word.quoted());
        let remedy = match word.bytes {
            bytes if bytes == MAGIC.as_bytes() => "it is the first line, and stands there only",
            _ => "move the line before the first statement",
        };
        return Fault::at(word, what, remedy);
    }
    unknown(word, "statement", &FORMS.map(|(name, _)| name))
}
