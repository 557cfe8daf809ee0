// SPDX-License-Identifier: GPL-2.0-only
//! Recordings: what is read of two small real ones, what is survived, what is refused, and that a played one does what
//! the kernel did.

use proptest::prelude::*;
use sched_core::trace::{Counter, Counters};
use sched_hosted::error::{EXIT_BAD_INPUT, Error};
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::{Header, Op, TaskName};
use sched_hosted::sim::{End, Limits, Plain, Sim};
use sched_hosted::trace::event::{Event, Kind, PrevState};
use sched_hosted::trace::line::Clock;
use sched_hosted::trace::problems::Wrong;
use sched_hosted::trace::reader::{self, Summary};
use sched_hosted::trace::script::{Act, Assume, Recording, Start, SyncWakeups};
use sched_hosted::trace::{input, load, read};
use sched_hosted::workload::costs::Costs;
use sched_hosted::workload::trace::Played;
use sched_hosted::workload::{Step, Workload};
use std::io::Write;

const RING: &str = "tests/traces/ring15-7.3.txt";
const FORKLOOP: &str = "tests/traces/forkloop-7.3-smp2.txt";

fn text_of(path: &str) -> Vec<u8> {
    std::fs::read(path).expect("the recording is committed")
}

/// Reads `bytes` as a file called `x`.
fn summary(bytes: &[u8]) -> Result<Summary, Error> {
    reader::read("x", input::unpack("x", bytes)?, |_| {})
}

fn recording(bytes: &[u8]) -> Recording {
    read("x", bytes, &Assume::default()).expect("it is a recording")
}

/// The one line that refuses `bytes`.
fn refusal(bytes: &[u8]) -> String {
    let error = summary(bytes).expect_err("it must be refused");
    assert_eq!(error.exit_code(), EXIT_BAD_INPUT);
    let text = error.to_string();
    assert!(!text.contains('\n') && text.len() < 400, "{text}");
    text
}

// What is read.

#[test]
fn the_ring_is_read_without_a_complaint() {
    let mut kinds = [0; 4];
    let mut last = None;
    let summary = reader::read(RING, &text_of(RING)[..], |event: &Event<'_>| {
        kinds[match event.kind {
            Kind::Switch { .. } => 0,
            Kind::Waking { .. } => 1,
            Kind::Wakeup { .. } => 2,
            _ => 3,
        }] += 1;
        last = Some(event.ts_ns);
    })
    .unwrap();
    assert_eq!(kinds, [60, 41, 41, 102]);
    assert_eq!((summary.lines, summary.events, summary.switches), (259, 244, 60));
    assert_eq!((summary.clock, summary.nr_cpus), (Some(Clock::Nanoseconds), 1));
    assert_eq!((summary.first_ns, last), (12_092_201_812, Some(summary.last_ns)));
    assert!(summary.problems.is_empty(), "{:?}", summary.problems.report(RING));
}

#[test]
fn two_cpus_forks_exits_and_interrupts() {
    let recording = load(FORKLOOP, &Assume::default()).unwrap();
    assert!(recording.summary.problems.is_empty());
    assert_eq!(recording.summary.clock, Some(Clock::Seconds));
    assert_eq!(recording.summary.nr_cpus, 2);
    assert_eq!(recording.counts.migrations, 3);
    // By hand: the sum of the times of tasks that ran on both CPUs, on the one where each ran less.
    assert_eq!(recording.counts.moved_ns / 1000, 1864);
    assert!(recording.counts.by_interrupt > 0 && recording.counts.from_other_cpu > 0);
    let tasks: Vec<_> = recording.cpus.iter().flat_map(|cpu| &cpu.tasks).collect();
    let forked = tasks.iter().filter(|task| task.start == Start::Forked).count();
    let exits = tasks.iter().filter(|task| task.acts.last() == Some(&Act::Exit)).count();
    assert_eq!((forked, exits), (8, 7));
    // sh-114 forks 627 on its own CPU; the kworker is asleep at first and woken by a soft interrupt.
    let shell = tasks.iter().find(|task| task.pid == 114).unwrap();
    assert!(shell.acts.iter().any(|act| matches!(act, Act::New { .. })));
    let kworker = tasks.iter().find(|task| task.pid == 12).unwrap();
    assert_eq!((kworker.name.as_str(), kworker.start), ("kworker_0_1-12", Start::Asleep));
    assert_eq!(kworker.acts[0], Act::Sleep);
    let woken = recording.cpus[0].stimuli.iter().find(|stimulus| !stimulus.new).unwrap();
    assert_eq!(recording.cpus[0].tasks[woken.task].pid, 12);
    assert_eq!(woken.at_ns, 499_000);
}

#[test]
fn packed_recordings_are_the_same() {
    let text = text_of(RING);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&text).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(summary(&packed).unwrap(), summary(&text).unwrap());
    // Cut in the middle: what comes before is read, and it is said.
    let cut = summary(&packed[..packed.len() / 2]).unwrap();
    assert_eq!(cut.problems.count(Wrong::EndsEarly), 1);
    assert!(cut.events > 20 && cut.events < 244);
}

// What becomes of it.

/// The ring: each worker is woken, runs, wakes the next one, returns to user mode and blocks. The preemptions of every
/// second one have left no mark: run times are equal to some 1 %.
#[test]
fn every_burst_of_the_ring_is_the_same() {
    let recording = load(RING, &Assume::default()).unwrap();
    assert_eq!(recording.scale_permille.abs_diff(1000) / 20, 0, "{}", recording.scale_permille);
    let [cpu] = &recording.cpus[..] else { panic!("one CPU") };
    let mut bursts = [Vec::new(), Vec::new(), Vec::new()];
    for (index, task) in cpu.tasks.iter().enumerate() {
        let acts: Vec<Act> =
            task.acts.iter().skip_while(|act| **act != Act::Sleep).copied().collect();
        for burst in acts.windows(7) {
            let [
                Act::Sleep,
                Act::Run { ns: before },
                Act::Wake { task: next, sync: true },
                Act::Run { ns: to_user },
                Act::UserMode,
                Act::Run { ns: after },
                Act::Sleep,
            ] = burst
            else {
                continue;
            };
            assert_ne!(*next, index);
            bursts[0].push(*before);
            bursts[1].push(*to_user);
            bursts[2].push(*after);
        }
    }
    assert!(bursts[0].len() > 20, "{}", bursts[0].len());
    // What is left is the worker's own: the model's parts of it, and the event of the waking.
    let costs = Costs::default();
    let before = costs.read_return_ns + costs.loop_ns + costs.write_to_wakeup_ns + 795;
    let after = costs.loop_ns + costs.read_to_block_ns;
    for (ns, expected) in bursts.iter_mut().zip([before, costs.write_return_ns, after]) {
        ns.sort_unstable();
        let median = ns[ns.len() / 2];
        assert!(median.abs_diff(expected) <= 20, "median {median}, expected {expected}: {ns:?}");
    }
}

/// The defaults of the cost model are the medians of what update_curr() charged in the recording, less its events.
#[test]
fn the_cost_model_is_that_of_the_recording() {
    #[derive(Default)]
    struct Stint {
        after_preempt: bool,
        resumed: bool,
        woke: bool,
    }
    let mut stint = Stint::default();
    let mut preempted = Vec::new();
    let mut charged_ns = 0;
    let mut waking = false;
    // Before a wakeup after a block and after a preemption; after it to a block and to a preemption; resumed.
    let mut found = [const { Vec::new() }; 5];
    reader::read(RING, &text_of(RING)[..], |event| match event.kind {
        Kind::Waking { .. } => waking = true,
        Kind::StatRuntime { runtime_ns, .. } if std::mem::take(&mut waking) => {
            found[usize::from(stint.after_preempt)].push(runtime_ns);
            stint.woke = true;
        }
        Kind::StatRuntime { runtime_ns, .. } => charged_ns = runtime_ns,
        Kind::Switch { prev, prev_state, next } => {
            match (stint.woke, prev_state, stint.resumed) {
                (true, PrevState::Asleep, _) => found[2].push(charged_ns),
                (true, PrevState::Runnable, _) => found[3].push(charged_ns),
                (false, PrevState::Asleep, true) => found[4].push(charged_ns),
                _ => {}
            }
            stint = Stint {
                after_preempt: prev_state == PrevState::Runnable,
                resumed: preempted.contains(&next.pid),
                woke: false,
            };
            preempted.retain(|pid| *pid != prev.pid);
            if prev_state == PrevState::Runnable {
                preempted.push(prev.pid);
            }
        }
        _ => {}
    })
    .unwrap();
    let costs = Costs::default();
    let before_ns = costs.before_wakeup_ns();
    let after_preempt_ns = before_ns - costs.switch_after_block_ns + costs.switch_after_preempt_ns;
    let model = [
        (before_ns, 3),
        (after_preempt_ns, 3),
        (costs.after_wakeup_ns(), 2),
        (costs.user_return_ns(), 2),
        (costs.after_preemption_ns(), 2),
    ];
    for (ns, (cost_ns, events)) in found.iter_mut().zip(model) {
        ns.sort_unstable();
        assert!(ns.len() > 10, "{ns:?}");
        let (median, traced_ns) = (ns[ns.len() / 2], cost_ns + events * 795);
        assert!(median.abs_diff(traced_ns) * 50 < traced_ns, "{median}, model {traced_ns}: {ns:?}");
    }
}

#[test]
fn what_is_not_recorded_is_assumed_as_asked() {
    let syncs = |sync| {
        let assume = Assume { sync, ..Assume::default() };
        let recording = read("x", &text_of(RING)[..], &assume).unwrap();
        let acts = recording.cpus[0].tasks.iter().flat_map(|task| &task.acts);
        acts.filter(|act| matches!(act, Act::Wake { sync: true, .. })).count()
    };
    assert_eq!(syncs(SyncWakeups::Always), 41);
    assert_eq!(syncs(SyncWakeups::Never), 0);
    // The recording ends before the last waker blocks, and the one that it preempted.
    assert_eq!(syncs(SyncWakeups::BeforeSleep), 39);
}

/// Two tasks, without sched_stat_runtime and sched_wakeup: the times of the events serve.
#[test]
fn few_kinds_of_events_are_enough() {
    let text = "\
a-1 [000] d..2. 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=110
a-1 [000] d..2. 1.000500: sched_waking: comm=b pid=2 prio=125 target_cpu=000
a-1 [000] d..2. 1.000700: sched_switch: prev_comm=a prev_pid=1 prev_prio=110 prev_state=R+ ==> next_comm=b next_pid=2 next_prio=125
b-2 [000] d..2. 1.000900: sched_switch: prev_comm=b prev_pid=2 prev_prio=125 prev_state=D ==> next_comm=a next_pid=1 next_prio=112
a-1 [000] d..2. 1.001000: sched_switch: prev_comm=a prev_pid=1 prev_prio=112 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] d.h2. 1.002000: sched_waking: comm=b pid=2 prio=125 target_cpu=000
<idle>-0 [000] d..2. 1.003000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=125
b-2 [000] d..2. 1.004000: sched_switch: prev_comm=b prev_pid=2 prev_prio=125 prev_state=Z ==> next_comm=rt next_pid=3 next_prio=49
rt-3 [000] d..2. 1.004500: sched_switch: prev_comm=rt prev_pid=3 prev_prio=49 prev_state=S ==> next_comm=a next_pid=1 next_prio=112
";
    let recording = recording(text.as_bytes());
    let [cpu] = &recording.cpus[..] else { panic!("one CPU") };
    let [a, b] = &cpu.tasks[..] else { panic!("two tasks of the fair class: {:?}", cpu.tasks) };
    assert_eq!((a.name.as_str(), a.nice, a.start), ("a-1", -10, Start::Queued));
    assert_eq!((b.name.as_str(), b.nice, b.start), ("b-2", 5, Start::Asleep));
    let runs = |acts: &[Act]| -> u64 {
        acts.iter().map(|act| if let Act::Run { ns } = act { *ns } else { 0 }).sum()
    };
    let costs = recording.costs;
    // a ran 0.5 + 0.2 + 0.1 ms and was switched in twice, with one event each.
    let a_ns = 800_000 - 2 * costs.switch_after_block_ns - costs.resume_ns;
    assert_eq!(runs(&a.acts), a_ns, "{:?}", a.acts);
    assert!(a.acts.contains(&Act::Wake { task: 1, sync: false }));
    assert!(a.acts.contains(&Act::Nice { nice: -8 }));
    let last = b.acts.last();
    assert_eq!((b.acts[0], last), (Act::Sleep, Some(&Act::Exit)), "{:?}", b.acts);
    assert_eq!(
        cpu.stimuli.iter().map(|s| (s.at_ns, s.task)).collect::<Vec<_>>(),
        [(2_000_000, 1), (4_500_000, 0)]
    );
    assert_eq!((recording.counts.unseen, recording.counts.other_class_tasks), (1, 1));
}

const A_WAKES_B_TWICE: &str = "\
a-1 [000] d..2. 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=120
a-1 [000] d..2. 1.000500: sched_waking: comm=b pid=2 prio=120 target_cpu=000
a-1 [000] d..2. 1.001000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=120
b-2 [000] d..2. 1.002000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=a next_pid=1 next_prio=120
a-1 [000] d..2. 1.003000: sched_waking: comm=b pid=2 prio=120 target_cpu=000
a-1 [000] d..2. 1.004000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120
b-2 [000] d..2. 1.005000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] d.s2. 1.006000: sched_wakeup_new: comm=c pid=2 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.006500: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=2 next_prio=120
c-2 [000] d..2. 1.007000: sched_switch: prev_comm=c prev_pid=2 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// In the recording b slept between its two wakeups; where a runs on to the second one first, b does not sleep.
#[test]
fn a_wakeup_that_comes_too_early_is_kept_for_its_sleep() {
    let recording = recording(A_WAKES_B_TWICE.as_bytes());
    let mut played = Played::new(&recording, 0, &Header::default());
    played.setup();
    let mut steps = |task, wanted: fn(&Step) -> bool| loop {
        let step = played.next(TaskName(task));
        if wanted(&step) {
            return step;
        }
        assert!(matches!(step, Step::Run { .. } | Step::UserMode | Step::HandOff), "{step:?}");
    };
    let wakes = |step: &Step| matches!(step, Step::Wake { task: TaskName(1), .. });
    steps(0, wakes);
    steps(0, wakes);
    // All of b's script without a sleep; a blocks in its own.
    steps(1, |step| matches!(step, Step::Do(Op::Exit { .. })));
    steps(0, |step| matches!(step, Step::Block));
}

#[test]
fn a_pid_that_is_used_again_is_another_task() {
    let recording = recording(A_WAKES_B_TWICE.as_bytes());
    let tasks = recording.cpus[0].tasks.iter().map(|task| (task.name.as_str(), task.start));
    let expected = [("a-1", Start::Queued), ("b-2", Start::Asleep), ("c-2", Start::Forked)];
    assert_eq!(tasks.collect::<Vec<_>>(), expected);
    assert_eq!((recording.counts.needless, recording.counts.unseen), (0, 0));
    let (end, hand_offs, ..) = play(&recording);
    assert_eq!((end, hand_offs), (End::AllAsleep, 2));
    // The same comm, too.
    let same = A_WAKES_B_TWICE.replace("comm=c", "comm=b");
    let recording = read("x", same.as_bytes(), &Assume::default()).unwrap();
    assert_eq!(recording.cpus[0].tasks[2].name, "b-2.2");
}

// That it plays.

/// Plays a recording's only CPU on v7.3's class: how it ended, hand-offs, switches, requeues, virtual ns.
fn play(recording: &Recording) -> (End, u64, u64, u64, u64) {
    let machine = Header { hz: 250, ..Header::default() };
    let mut workload = Played::new(recording, 0, &machine);
    let options = Options::default();
    let arena = Arena::new();
    let (header, names) = (workload.header(), workload.names());
    let mut driver = Driver::new(&arena, &header, &names, &options, Counters::default()).unwrap();
    let mut drive = Plain(&mut driver);
    let mut sim = Sim::new(&mut drive, &mut workload, 0);
    let end = sim.run(Limits::ops(1_000_000));
    let stats = sim.into_stats();
    let requeues = driver.hooks().get(Counter::RequeueDelayedEntity);
    let switches = driver.machine().cpu_rq(0).nr_switches.get();
    (end, stats.hand_offs, switches, requeues, stats.virtual_ns)
}

#[test]
fn the_played_ring_does_what_the_kernel_did() {
    let recording = load(RING, &Assume::default()).unwrap();
    let (end, hand_offs, switches, requeues, virtual_ns) = play(&recording);
    assert_eq!(end, End::AllAsleep);
    assert_eq!(hand_offs, 41);
    // Each task that was asleep at the start is switched in and out once to get there; and the recording ends in the
    // middle of what two workers do, the played one does not.
    let asleep = recording.cpus[0].tasks.iter().filter(|task| task.start == Start::Asleep).count();
    let recorded_ns = recording.summary.last_ns - recording.summary.first_ns;
    assert!(switches.abs_diff(60 + 2 * asleep as u64) <= 6, "{switches} switches, 60 recorded");
    assert_eq!(requeues, 0);
    assert!(virtual_ns.abs_diff(recorded_ns) * 20 < recorded_ns, "{virtual_ns} of {recorded_ns}");
}

#[test]
fn every_cpu_of_the_other_one_plays_to_its_end() {
    let recording = load(FORKLOOP, &Assume::default()).unwrap();
    let (end, ..) = play(&recording);
    assert_eq!(end, End::AllAsleep);
}

// What is survived.

#[test]
fn damage_is_reported_with_its_place_and_survived() {
    let text = String::from_utf8(text_of(RING)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let switch = lines.iter().position(|line| line.contains("sched_switch")).unwrap();
    lines.insert(60, "what is this");
    lines.insert(61, "CPU:0 [LOST 12 EVENTS]");
    lines.insert(
        62,
        "   x-1  [000] d..2.  12092000000: sched_waking: comm=w02 pid=289 prio=120 target_cpu=000",
    );
    lines.insert(
        63,
        "   x-1  [000] d..2.  99999992092000000: sched_waking: comm=w02 pid=289 prio=120 target_cpu=000",
    );
    lines.remove(switch);
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n             w09-296     [000] d..3.  1209");
    let summary = summary(&bytes).unwrap();
    let count = |wrong| summary.problems.count(wrong);
    assert_eq!(count(Wrong::NoTraceLine), 1);
    assert_eq!(count(Wrong::LostEvents), 1);
    assert_eq!(count(Wrong::TimeBack), 1);
    assert_eq!(count(Wrong::TimeJump), 1);
    assert_eq!(count(Wrong::CutLine), 1);
    // After the switch that is missing; and x does not fit what follows, though it does fit what was lost.
    assert_eq!(count(Wrong::BrokenChain), 2);
    let report = summary.problems.report("x");
    assert_eq!(report.len(), 6);
    assert!(report[0].starts_with("x:60:1: no line of ftrace text"), "{}", report[0]);
    for line in report {
        assert!(line.len() < 300 && !line.contains('\n'), "{line}");
    }
    assert!(recording(&bytes).cpus[0].tasks.len() > 10);
}

#[test]
fn a_recording_may_be_cut_anywhere() {
    let text = text_of(FORKLOOP);
    for cut in (0..text.len()).step_by(61) {
        match summary(&text[..cut]) {
            Ok(summary) => assert!(summary.switches > 0),
            Err(error) => assert_eq!(error.exit_code(), EXIT_BAD_INPUT),
        }
        let _ = read("x", &text[..cut], &Assume::default());
        let _ = read("x", &text[cut..], &Assume::default());
    }
}

// What is refused.

#[test]
fn nonsense_is_refused_in_one_line() {
    assert!(refusal(b"").starts_with("x:1:1: the file is empty; record the events sched_switch"));
    let text = refusal(b"fairlab-ops 1\ntask a\n");
    assert!(text.starts_with("x:1:1: no sched_switch event of ftrace text in 2 lines"), "{text}");
    assert!(text.contains("'fairlab-ops 1'"), "{text}");
    let text = refusal(&[0xff, 0, 7, 10, 13, 200].repeat(10_000));
    assert!(text.contains("\\xff\\0"), "{text}");
    let text = refusal(&vec![b'x'; 1 << 20]);
    assert!(
        text.starts_with("x:1:1: no sched_switch event of ftrace text in 1 line; a line of more"),
        "{text}"
    );
    let text = refusal(b"# only\n# comments\n");
    assert!(
        text.starts_with("x:1:1: no sched_switch event of ftrace text in 2 lines; record"),
        "{text}"
    );
    let text = refusal(b"PERFILE2xxxxxx");
    assert!(text.contains("perf script -i x"), "{text}");
    let text = refusal(b"\xfd7zXZ\0garbage");
    assert!(text.starts_with("x:1:1: the compressed data are damaged or end early ("), "{text}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    for path in ["/no/such/file", "/"] {
        let error = load(path, &Assume::default()).unwrap_err();
        assert_eq!(error.exit_code(), EXIT_BAD_INPUT);
        assert!(error.to_string().starts_with(&format!("{path}: cannot read it (")), "{error}");
    }
}

#[test]
fn of_two_clocks_in_one_file_the_first_is_read() {
    let alone = read("x", &text_of(FORKLOOP)[..], &Assume::default()).unwrap();
    let mut bytes = text_of(FORKLOOP);
    bytes.extend(text_of(RING));
    let both = read("x", &bytes[..], &Assume::default()).unwrap();
    assert_eq!(both.summary.events, alone.summary.events);
    let report = both.summary.problems.report("x").join("\n");
    assert!(
        report.contains("another clock") && report.contains("ns after ones in seconds"),
        "{report}"
    );
}

proptest! {
    #[test]
    fn no_bytes_are_too_bad(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = read("x", &bytes[..], &Assume::default());
        if let Ok(mut unpacked) = input::unpack("x", &bytes[..]) {
            let _ = std::io::copy(&mut unpacked, &mut std::io::sink());
        }
    }

    /// Any few bytes of a real recording changed: it is read, what is left is played to an end.
    #[test]
    fn damaged_recordings_play(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = text_of(RING);
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(recording) = read("x", &bytes[..], &Assume::default()) {
            for line in recording.describe() {
                prop_assert!(!line.contains('\n'));
            }
            if !recording.cpus.is_empty() {
                play(&recording);
            }
        }
    }

    /// Lines in any order, some twice.
    #[test]
    fn shuffled_recordings_play(order in proptest::collection::vec(any::<prop::sample::Index>(), 1..400)) {
        let text = text_of(FORKLOOP);
        let lines: Vec<&[u8]> = text.split(|c| *c == b'\n').collect();
        let mut bytes = Vec::new();
        for index in order {
            bytes.extend(lines[index.index(lines.len())]);
            bytes.push(b'\n');
        }
        if let Ok(recording) = read("x", &bytes[..], &Assume::default())
            && !recording.cpus.is_empty()
        {
            play(&recording);
        }
    }
}
