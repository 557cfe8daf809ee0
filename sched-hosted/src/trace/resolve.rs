// SPDX-License-Identifier: GPL-2.0-only
//! Turns what was followed into scripts: finds each task's own CPU, takes the costs of switching, waking and tracing
//! out of the run times, and parts what tasks of one CPU do to each other from what comes from outside.

use super::extract::{Extracted, Raw, RawStimulus, Task};
use super::reader::Summary;
use super::script::{
    Act, Assume, Counts, CpuScript, Recording, Start, Stimulus, SyncWakeups, TaskScript,
};
use crate::workload::costs::TRACED_WAKEUP_NS;
use std::collections::BTreeSet;

/// The scale stays between these, in thousandths.
const SCALE_PERMILLE: std::ops::RangeInclusive<u64> = 20..=20_000;

/// A waker that sleeps within this much of its own CPU time was about to: ns on the machine of the cost model.
const SLEEPS_SOON_NS: u64 = 20_000;

/// Where a task went: its place in [`Recording::cpus`] and in that CPU's tasks. None for tasks of other classes.
type Place = Option<(usize, usize)>;

/// Makes scripts of `found`; `name` is the file's, `summary` what was read of it.
pub fn resolve(name: &str, found: Extracted, summary: Summary, assume: &Assume) -> Recording {
    let scale_permille = scale_permille(found.wakeups_ns);
    let costs = assume.costs.traced(if found.charges { 2 } else { 1 }).scaled(scale_permille);
    let mut counts = found.counts;
    let (mut cpus, places) = place(&found.tasks, &mut counts);
    let mut writer = Writer {
        places: &places,
        first_ns: summary.first_ns,
        scale_permille,
        user_return_ns: costs.write_return_ns,
        sync: assume.sync,
        counts,
        stimuli: vec![Vec::new(); cpus.len()],
    };
    for stimulus in &found.stimuli {
        writer.by_interrupt(*stimulus);
    }
    for (task, at) in found.tasks.iter().zip(&places) {
        match *at {
            Some((cpu, slot)) => cpus[cpu].tasks[slot].acts = writer.acts(task, cpu),
            None => writer.other_class(task),
        }
    }
    let counts = writer.counts;
    for (cpu, mut stimuli) in cpus.iter_mut().zip(writer.stimuli) {
        stimuli.sort_by_key(|stimulus| stimulus.at_ns);
        cpu.stimuli = stimuli;
    }
    Recording { name: name.to_string(), summary, cpus, counts, costs, scale_permille }
}

/// Fewer wakeups than this tell nothing of the machine's speed.
const WAKEUPS_MIN: usize = 32;

/// How fast the machine of the recording was, against the one of the cost model: by the mean of the middle half of its
/// wakeups (an interrupt may have come in between, and a clock of us is too coarse for the median).
fn scale_permille(mut wakeups_ns: Vec<u32>) -> u64 {
    if wakeups_ns.len() < WAKEUPS_MIN {
        return 1000;
    }
    wakeups_ns.sort_unstable();
    let aside = wakeups_ns.len() / 4;
    let kept = &wakeups_ns[aside..wakeups_ns.len() - aside];
    let sum: u64 = kept.iter().map(|ns| u64::from(*ns)).sum();
    let permille = sum * 1000 / (kept.len() as u64 * TRACED_WAKEUP_NS);
    permille.clamp(*SCALE_PERMILLE.start(), *SCALE_PERMILLE.end())
}

/// Gives each task of the fair class its CPU: where it ran longest, the lowest of equals.
fn place(tasks: &[Task], counts: &mut Counts) -> (Vec<CpuScript>, Vec<Place>) {
    let home = |task: &Task| {
        let longest = task.ran_on.iter().max_by_key(|(cpu, ns)| (*ns, std::cmp::Reverse(*cpu)));
        longest.map_or(task.first_cpu, |(cpu, _)| *cpu)
    };
    let fair = |task: &&Task| task.nice.is_some() || !task.other_class;
    let numbers: BTreeSet<u32> = tasks.iter().filter(fair).map(home).collect();
    let mut cpus: Vec<CpuScript> =
        numbers.iter().map(|cpu| CpuScript { cpu: *cpu, ..CpuScript::default() }).collect();
    let mut names = BTreeSet::new();
    let mut places = Vec::with_capacity(tasks.len());
    for task in tasks {
        if !fair(&task) {
            places.push(None);
            continue;
        }
        let home = home(task);
        let elsewhere = task.ran_on.iter().filter(|(cpu, _)| *cpu != home);
        counts.moved_ns = elsewhere.fold(counts.moved_ns, |sum, (_, ns)| sum.saturating_add(*ns));
        let at = numbers.range(..home).count();
        let script = &mut cpus[at];
        places.push(Some((at, script.tasks.len())));
        script.tasks.push(TaskScript {
            name: unique_name(task, &mut names),
            pid: task.pid,
            nice: task.nice.unwrap_or(0),
            start: task.start,
            acts: Vec::new(),
        });
    }
    (cpus, places)
}

/// The task's comm and pid, in the letters of the operation language; with a number if that pid was used before.
fn unique_name(task: &Task, names: &mut BTreeSet<String>) -> String {
    let legal =
        |c: &u8| if c.is_ascii_alphanumeric() || b"_.-".contains(c) { char::from(*c) } else { '_' };
    let comm: String = task.comm.iter().take(15).map(legal).collect();
    let base = format!("{comm}-{}", task.pid);
    let mut name = base.clone();
    let mut again = 2;
    while !names.insert(name.clone()) {
        name = format!("{base}.{again}");
        again += 1;
    }
    name
}

/// Writes scripts.
struct Writer<'a> {
    places: &'a [Place],
    first_ns: u64,
    scale_permille: u64,
    user_return_ns: u64,
    sync: SyncWakeups,
    counts: Counts,
    stimuli: Vec<Vec<Stimulus>>,
}

impl Writer<'_> {
    /// A wakeup that keeps its time; says whether it is of a sleeping task that is played.
    fn outside(&mut self, raw: RawStimulus) -> bool {
        let Some((cpu, slot)) = self.places[raw.task] else {
            return false;
        };
        self.counts.wakeups += u64::from(!raw.new);
        let at_ns = raw.ts_ns.saturating_sub(self.first_ns);
        self.stimuli[cpu].push(Stimulus { at_ns, task: slot, new: raw.new });
        !raw.new
    }

    fn by_interrupt(&mut self, raw: RawStimulus) {
        self.counts.by_interrupt += u64::from(self.outside(raw));
    }

    /// What a task of another class does to the others.
    fn other_class(&mut self, task: &Task) {
        self.counts.other_class_tasks += 1;
        let sum_ns = &mut self.counts.other_class_ns;
        *sum_ns = task.ran_on.iter().fold(*sum_ns, |sum, (_, ns)| sum.saturating_add(*ns));
        for raw in &task.raw {
            if let Raw::Wake { task, ts_ns, new } = *raw {
                self.keeps_time(RawStimulus { ts_ns, task, new });
            }
        }
    }

    fn keeps_time(&mut self, raw: RawStimulus) {
        self.counts.from_other_cpu += u64::from(self.outside(raw));
    }

    /// The script of `task`, which belongs to the CPU at `cpu`.
    fn acts(&mut self, task: &Task, cpu: usize) -> Vec<Act> {
        let mut acts = Vec::new();
        if task.start == Start::Asleep {
            acts.push(Act::Sleep);
        }
        let mut run_ns = 0;
        let mut in_kernel = false;
        for (at, raw) in task.raw.iter().enumerate() {
            if let Raw::Run { ns, overhead_ns } = *raw {
                run_ns = u64::saturating_add(run_ns, self.own_ns(ns, overhead_ns));
                continue;
            }
            self.run(&mut acts, &mut run_ns, &mut in_kernel);
            match *raw {
                Raw::Run { .. } => {}
                Raw::Nice(nice) => acts.push(Act::Nice { nice }),
                Raw::Sleep => acts.push(Act::Sleep),
                Raw::Exit => acts.push(Act::Exit),
                Raw::Wake { task: other, ts_ns, new } => {
                    in_kernel = true;
                    match self.places[other] {
                        Some((on, slot)) if on == cpu => {
                            self.counts.wakeups += u64::from(!new);
                            let sync = self.is_sync(&task.raw[at + 1..]);
                            acts.push(if new {
                                Act::New { task: slot }
                            } else {
                                Act::Wake { task: slot, sync }
                            });
                        }
                        _ => self.keeps_time(RawStimulus { ts_ns, task: other, new }),
                    }
                }
            }
        }
        self.run(&mut acts, &mut run_ns, &mut in_kernel);
        acts
    }

    /// What is left of `ns` without the overhead in it, ns.
    fn own_ns(&self, ns: u64, overhead_ns: u64) -> u64 {
        ns.saturating_sub(overhead_ns.saturating_mul(self.scale_permille) / 1000)
    }

    /// Adds `run_ns` of CPU time; in it, if a wakeup came before, the way back to user mode, if the time is enough for
    /// that.
    fn run(&self, acts: &mut Vec<Act>, run_ns: &mut u64, in_kernel: &mut bool) {
        let mut ns = std::mem::take(run_ns);
        if std::mem::take(in_kernel) && ns >= self.user_return_ns {
            acts.push(Act::Run { ns: self.user_return_ns });
            acts.push(Act::UserMode);
            ns -= self.user_return_ns;
        }
        if ns > 0 {
            acts.push(Act::Run { ns });
        }
    }

    fn is_sync(&self, rest: &[Raw]) -> bool {
        match self.sync {
            SyncWakeups::Always => true,
            SyncWakeups::Never => false,
            SyncWakeups::BeforeSleep => self.sleeps_soon(rest),
        }
    }

    /// Nothing comes before the next sleep but a little CPU time.
    fn sleeps_soon(&self, rest: &[Raw]) -> bool {
        let mut own_ns = 0u64;
        for raw in rest {
            match *raw {
                Raw::Run { ns, overhead_ns } => {
                    own_ns = own_ns.saturating_add(self.own_ns(ns, overhead_ns));
                }
                Raw::Nice(_) => {}
                Raw::Sleep => return own_ns <= SLEEPS_SOON_NS * self.scale_permille / 1000,
                Raw::Wake { .. } | Raw::Exit => return false,
            }
        }
        false
    }
}
