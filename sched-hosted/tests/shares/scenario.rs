// SPDX-License-Identifier: GPL-2.0-only
//! How `tests/shares/*.ops` are made: a few lines that set the machine up, then what a CPU does by
//! itself for ten seconds, recorded statement by statement.
//!
//! The CPU does what the kernel does around the class: a tick each TICK_NSEC while it is busy, timers
//! that are due, on the way back to user mode a schedule where one is asked for, then the task work of
//! the task that runs, again until nothing is left. Tasks run for ever, or as `# blink` says.

use sched_core::patches::Patches;
use sched_hosted::compare::side::{Side, Watch};
use sched_hosted::ops::class::{Object, Value};
use sched_hosted::ops::digest::State;
use sched_hosted::ops::text::{parse_program, print};
use sched_hosted::ops::{Class, Op, Policy, Program, Resched, START_NS, Statement, TaskName};

const RUN_NS: u64 = 10_000_000_000;

/// `# blink NAME RUN SLEEP`: it runs for RUN ns of its own, then sleeps for SLEEP ns, from the first
/// wakeup on.
#[derive(Clone, Copy)]
struct Blink {
    task: TaskName,
    run_ns: u64,
    sleep_ns: u64,
    /// When it is woken; none while it is awake.
    wake_at: Option<u64>,
    /// How much it had run when it was woken last.
    ran_ns: u64,
}

/// The machine under way.
struct Cpu<'c> {
    class: &'c mut dyn Class,
    statements: Vec<Statement>,
    quota: bool,
    /// `# refresh NAME`: whenever a sleeper comes or goes this task is taken out of the queue and put
    /// back, as by sched_setattr(), which gives it its present flat weight.
    refresh: Option<TaskName>,
}

impl Cpu<'_> {
    fn run(&mut self, op: Op) {
        self.class.apply(&op).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
        self.statements.push(Statement { op, line: 0 });
    }

    /// What happens on the way back to user mode.
    fn return_to_user(&mut self) {
        loop {
            if self.class.resched(0) != Resched::None {
                self.run(Op::Schedule { cpu: 0 });
            }
            if !self.quota || self.class.current(0).is_none() {
                return;
            }
            self.run(Op::UserReturn { cpu: 0 });
            if self.class.resched(0) == Resched::None {
                return;
            }
        }
    }

    fn refresh(&mut self) {
        if let Some(task) = self.refresh {
            self.run(Op::Param { task, policy: Policy::Normal, nice: 0, slice_ns: 0 });
        }
    }

    fn ran_ns(&self, task: TaskName) -> u64 {
        let state = State::of(self.class);
        let is =
            |at: &(Object, &str, Value)| at.0 == Object::Task(task) && at.1 == "sum_exec_runtime";
        match state.fields().find(is) {
            Some((_, _, Value::U64(ns))) => ns,
            _ => 0,
        }
    }

    /// Sleepers that have run long enough go to sleep; those whose time has come wake up.
    fn blink(&mut self, blinks: &mut [Blink], now: u64) {
        for blink in blinks {
            match blink.wake_at {
                Some(at) if at <= now => {
                    blink.ran_ns = self.ran_ns(blink.task);
                    blink.wake_at = None;
                    self.run(Op::Wake { task: blink.task, sync: false, cpu: None });
                    self.refresh();
                    self.return_to_user();
                }
                None if self.class.current(0) == Some(blink.task) => {
                    self.run(Op::UpdateCurr { cpu: 0 });
                    if self.ran_ns(blink.task) - blink.ran_ns >= blink.run_ns {
                        blink.wake_at = Some(now + blink.sleep_ns);
                        self.run(Op::Block { cpu: 0 });
                        self.refresh();
                        self.return_to_user();
                    }
                }
                _ => {}
            }
        }
    }
}

fn blinks(text: &str, program: &mut Program) -> Vec<Blink> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# blink "));
    let made = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let ns = |at: usize| words[at].parse().expect("ns");
        let task = program.names.task(words[0]);
        Blink { task, run_ns: ns(1), sleep_ns: ns(2), wake_at: None, ran_ns: 0 }
    });
    made.collect()
}

/// The file `name`: the scenario's own lines, then what the CPU did.
pub fn record(name: &str, text: &str) -> String {
    let mut program = parse_program(name, text.as_bytes()).expect("the scenario is good");
    let mut blinks = blinks(text, &mut program);
    let mut refresh = text.lines().filter_map(|line| line.strip_prefix("# refresh "));
    let refresh = refresh.next().map(|task| program.names.task(task));
    let quota = program.statements.iter().any(|s| matches!(s.op, Op::Quota { .. }));
    let tick_ns = 1_000_000_000 / u64::from(program.header.hz);
    let base = Side::new(Patches::empty());
    let statements = base.with(&program.header, &program.names, Watch::default(), |class| {
        let mut cpu = Cpu { class, statements: Vec::new(), quota, refresh };
        for statement in &program.statements {
            cpu.run(statement.op);
        }
        cpu.return_to_user();
        let mut now = START_NS;
        let mut tick = START_NS + tick_ns;
        while now < START_NS + RUN_NS {
            now = next_event(&cpu, &blinks, now, tick).min(START_NS + RUN_NS);
            cpu.run(Op::At { ns: now });
            cpu.blink(&mut blinks, now);
            if now == tick {
                tick += tick_ns;
                if quota {
                    cpu.run(Op::Timers);
                }
                if cpu.class.current(0).is_some() {
                    cpu.run(Op::Tick { cpu: 0 });
                }
                cpu.return_to_user();
            }
        }
        cpu.run(Op::UpdateCurr { cpu: 0 });
        cpu.statements
    });
    program.statements = statements.expect("the header is good");
    let whole = print(&program);
    let (first, rest) = whole.split_once('\n').expect("lines");
    let comments: String = text
        .lines()
        .filter(|line| line.starts_with("# "))
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{first}\n{comments}{rest}")
}

/// The next tick, wakeup or end of a burst.
fn next_event(cpu: &Cpu, blinks: &[Blink], now: u64, tick: u64) -> u64 {
    let mut next = tick;
    for blink in blinks {
        let at = match blink.wake_at {
            Some(at) => at,
            None if cpu.class.current(0) == Some(blink.task) => {
                now + blink.run_ns.saturating_sub(cpu.ran_ns(blink.task) - blink.ran_ns).max(1)
            }
            None => continue,
        };
        next = next.min(at.max(now + 1));
    }
    next
}

/// Tasks by name, in a group, all new.
fn hogs(group: &str, names: &[&str]) -> String {
    let lines = names.iter().map(|name| format!("task {name} group {group}\nnew {name}\n"));
    lines.collect()
}

const HEAD: &str = "fairlab-ops 1\ncpus 1\nhz 250\n";

/// All scenarios: the file's name and its text without what the CPU does.
pub fn all() -> Vec<(&'static str, String)> {
    let two = "group /a shares 1024\ngroup /b shares 3072\n";
    let quarter = "# expect /a 1/4\n# expect /b 3/4\n";
    let more = |first: &str, second: &str| {
        hogs("/a", &first.split(' ').collect::<Vec<_>>())
            + &hogs("/b", &second.split(' ').collect::<Vec<_>>())
    };
    vec![
        (
            "hogs-1-3.ops",
            format!(
                "{HEAD}# cpu.weight 100 to 300, with one hog against three\n{quarter}# expect b1 1/4\n\
                 # expect b2 1/4\n# expect b3 1/4\n{two}{}",
                more("a1", "b1 b2 b3")
            ),
        ),
        (
            "hogs-3-1.ops",
            format!(
                "{HEAD}# cpu.weight 100 to 300, with three hogs against one\n{quarter}# expect a1 1/12\n\
                 # expect a2 1/12\n# expect a3 1/12\n{two}{}",
                more("a1 a2 a3", "b1")
            ),
        ),
        (
            "nested.ops",
            format!(
                "{HEAD}# weights 100 and 300 inside a group of weight 100, beside one of 300\n\
                 # expect /N 1/4\n# expect /N/n1 1/16\n# expect /N/n2 3/16\n# expect /M 3/4\n\
                 # expect /M/m1 3/4\ngroup /N shares 1024\ngroup /N/n1 shares 1024\n\
                 group /N/n2 shares 3072\ngroup /M shares 3072\ngroup /M/m1 shares 1024\n{}{}{}",
                hogs("/N/n1", &["n1a"]),
                hogs("/N/n2", &["n2a", "n2b"]),
                hogs("/M/m1", &["m1a"])
            ),
        ),
        (
            "root-hog.ops",
            format!(
                "{HEAD}# a hog of nice 0 in the root group counts like a group of weight 100\n\
                 # expect r 1/5\n# expect /a 1/5\n# expect /b 3/5\n{two}{}{}",
                more("a1 a2", "b1"),
                hogs("/", &["r"])
            ),
        ),
        (
            "quota.ops",
            format!(
                "{HEAD}# cpu.max of 10 ms in 100 ms, against a hog in the root group\n# expect /q 1/10\n\
                 # expect r 9/10\ngroup /q\nquota /q 100000 10000\n{}{}",
                hogs("/q", &["q1", "q2"]),
                hogs("/", &["r"])
            ),
        ),
        ("sleeper.ops", sleeper("# off /g 1/2 0.4284\n# off r 1/2 0.5716\n")),
        ("sleeper-refreshed.ops", sleeper("# refresh g1\n# off /g 1/2 0.4758\n")),
        (
            "sleeper-slow.ops",
            sleeper("# expect /g 1/2\n# expect r 1/2\n")
                .replace(" 1000000 3000000", " 20000000 90000000"),
        ),
        ("floor.ops", floor()),
    ]
}

/// A sleeper comes and goes beside a hog of its group.
fn sleeper(claims: &str) -> String {
    format!(
        "{HEAD}# a sleeper comes and goes beside a hog of its group\n\
         # blink g2 1000000 3000000\n{claims}group /g\n{}{}",
        hogs("/g", &["g1", "g2"]),
        hogs("/", &["r"])
    )
}

/// H11: no task weighs less than 2, of 1048576 for nice 0.
fn floor() -> String {
    let mut text = format!(
        "{HEAD}# twenty tasks, five levels down with the least shares at each, beside a hog each\n\
         # expect h0 1\n\
         # flat /a/a/a/a/a 0 40\ngroup /a shares 2\n"
    );
    let mut path = "/a".to_string();
    for level in 1..5 {
        text += &hogs(&path, &[&format!("h{level}")]);
        path += "/a";
        text += &format!("group {path} shares 2\n");
    }
    let names: Vec<String> = (1..=20).map(|n| format!("t{n}")).collect();
    text += &hogs(&path, &names.iter().map(String::as_str).collect::<Vec<_>>());
    text + &hogs("/", &["h0"])
}
