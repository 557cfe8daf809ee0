// SPDX-License-Identifier: GPL-2.0-only
//! A loaded oracle: the only file that talks to the shared object, and so the only one with unsafe code.
//!
//! Every [`Oracle`] loads a copy of the shared object of its own, so that several machines, and several kernels, can
//! live in one process. The other side of this file is `c/oracle.h`.
#![allow(unsafe_code)]

mod types;

pub use types::{Bench, BenchItem, Complaint, Config, Kind, Op, TaskInfo};

use crate::error::Error;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_ulonglong, c_void};
use std::path::Path;
use types::RawComplaint;

/// The version of the interface that `c/oracle.h` describes.
pub const ABI: u32 = 3;

/// The value of a field that names nobody, and of a task number that is none.
pub const NOBODY: u64 = u64::MAX;
/// Added to a group's number where a field may name a task or a group.
pub const GROUP: u64 = 1 << 32;

/// A bad address in the kernel's code must not end the program: where there is a call of an oracle under way, it ends
/// as a BUG does.
mod fault {
    use std::cell::Cell;
    use std::ffi::c_int;
    use std::sync::OnceLock;

    /// What makes the call under way give up; it does not return.
    // SAFETY: a type only; the call argues for itself.
    pub type GiveUp = unsafe extern "C" fn();

    thread_local! {
        static UNDER_WAY: Cell<Option<GiveUp>> = const { Cell::new(None) };
    }
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Runs `call`, a call of an oracle whose way out is `give_up`.
    #[inline]
    pub fn guard<R>(give_up: GiveUp, call: impl FnOnce() -> R) -> R {
        UNDER_WAY.set(Some(give_up));
        let result = call();
        UNDER_WAY.set(None);
        result
    }

    extern "C" fn handler(_: c_int) {
        match UNDER_WAY.try_with(Cell::take) {
            // SAFETY: the fault came from the call under way, on this stack; no frame of Rust between it and this
            // handler has anything to drop.
            Ok(Some(give_up)) => unsafe { give_up() },
            // Not ours: what was there before deals with it when the instruction faults again.
            _ => {
                if let Some(before) = BEFORE.get() {
                    // SAFETY: `before` came from sigaction().
                    unsafe { libc::sigaction(libc::SIGSEGV, before, std::ptr::null_mut()) };
                }
            }
        }
    }

    /// To be called before the first oracle runs.
    pub fn install() {
        BEFORE.get_or_init(|| {
            // SAFETY: both structures are plain data for which all zeros is valid, and the handler only does what is
            // allowed in one. NODEFER: it is left by a long jump, and the signal must stay open after that. No
            // alternative stack: the jump must find the one of the call.
            unsafe {
                let mut ours: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                ours.sa_sigaction = handler as *const () as usize;
                ours.sa_flags = libc::SA_NODEFER;
                libc::sigaction(libc::SIGSEGV, &ours, &mut before);
                before
            }
        });
    }
}

/// A function of the shared object.
macro_rules! c_fn {
    (($($argument:ty),*) $(-> $result:ty)?) => {
        // SAFETY: a type only; each call argues for itself.
        Symbol<unsafe extern "C" fn($($argument),*) $(-> $result)?>
    };
}

struct Calls {
    fault: Symbol<fault::GiveUp>,
    memory: c_fn!((*const Config) -> c_ulong),
    init: c_fn!((*const Config, *mut c_void, c_ulong) -> c_int),
    run: c_fn!((*const Op) -> c_int),
    run_many: c_fn!((*const Op, c_ulong) -> c_ulong),
    complaint: c_fn!((*mut RawComplaint)),
    complaints: c_fn!(() -> c_uint),
    core: c_fn!((*mut u64) -> c_ulong),
    pelt: c_fn!((*mut u64) -> c_ulong),
    task: c_fn!((c_uint, *mut TaskInfo)),
    current: c_fn!((c_uint, *mut c_uint) -> c_uint),
    tasks: c_fn!((*mut *const c_uint) -> c_uint),
    groups: c_fn!((*mut *const c_uint) -> c_uint),
    now: c_fn!(() -> c_ulonglong),
    bench_item_size: c_fn!(() -> c_ulong),
    bench_task_size: c_fn!(() -> c_ulong),
    bench_prepare: c_fn!((*const BenchItem, c_ulong, *mut c_void)),
    bench_run: c_fn!((c_uint, c_uint) -> c_int),
    bench_task: c_fn!((c_ulong) -> c_uint),
}

/// A block of memory whose address the shared object keeps: it is never moved, and aligned to pages.
struct Block {
    words: Vec<u64>,
    start: usize,
}

const PAGE: usize = 4096;

impl Block {
    fn new(bytes: usize) -> Self {
        let words = vec![0_u64; (bytes + PAGE).div_ceil(8)];
        let start = words.as_ptr().align_offset(PAGE);
        Block { words, start }
    }

    fn bytes(&self) -> usize {
        (self.words.len() - self.start) * 8
    }

    fn address(&mut self) -> *mut c_void {
        self.words[self.start..].as_mut_ptr().cast()
    }
}

/// One machine with the kernel's own fair class.
pub struct Oracle {
    calls: Calls,
    features: Vec<&'static str>,
    default_features: u32,
    max_cpus: u32,
    compiler: String,
    config: Option<Config>,
    memory: Block,
    /// Where a prepared batch lies, and how many items it has.
    batch: (Block, usize),
    /// What `oracle_load()` was given; the shared object reads it at every [`Oracle::init`].
    _snapshot: Block,
    // Last, so that it is unloaded after all else is gone.
    _library: Library,
}

impl Oracle {
    /// Loads a copy of the shared object `path`.
    ///
    /// # Errors
    /// It cannot be read or loaded, or is of another version than this program.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bad = |what: String| Error::Load { path: path.to_path_buf(), what };
        // The loader gives one file one image, so each machine needs a file of its own.
        let copy = tempfile::NamedTempFile::with_suffix(".so").map_err(|e| bad(e.to_string()))?;
        std::fs::copy(path, copy.path()).map_err(|e| bad(e.to_string()))?;
        // SAFETY: the file was built by this crate; it has no constructors and needs no other library.
        let library = unsafe { Library::open(Some(copy.path()), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|e| bad(e.to_string()))?;

        // SAFETY: the types here and below are those of c/driver.c; the version of the interface is checked first.
        let abi: Result<c_fn!(() -> c_uint), _> = unsafe { library.get(b"oracle_abi\0") };
        let abi = abi.map_err(|e| bad(e.to_string()))?;
        // SAFETY: a function without conditions.
        if unsafe { abi() } != ABI {
            return Err(bad(
                "it was built by another version of this program: build it again".to_string()
            ));
        }
        fault::install();
        // SAFETY: as above.
        let calls = unsafe { Self::calls(&library) }.map_err(|e| bad(e.to_string()))?;
        // SAFETY: as above; `oracle_load` gets as many bytes as `oracle_data_size` asks for, kept as long as the
        // library is.
        let set_up = unsafe { Self::set_up(&library) };
        let (snapshot, features, default_features, max_cpus) =
            set_up.map_err(|e| bad(e.to_string()))?;
        // SAFETY: the type is that of c/driver.c, and the text a constant of the library.
        let compiler = unsafe {
            let name: Result<c_fn!(() -> *const c_char), _> = library.get(b"oracle_compiler\0");
            name.map(|name| CStr::from_ptr(name()).to_string_lossy().into_owned())
        };
        let compiler = compiler.map_err(|e| bad(e.to_string()))?;
        Ok(Oracle {
            calls,
            features,
            default_features,
            max_cpus,
            compiler,
            config: None,
            memory: Block::new(0),
            batch: (Block::new(0), 0),
            _snapshot: snapshot,
            _library: library,
        })
    }

    /// # Safety
    /// `library` is an oracle of this [`ABI`].
    unsafe fn calls(library: &Library) -> Result<Calls, libloading::Error> {
        // SAFETY: the types are those of c/driver.c, as the caller promises.
        unsafe {
            Ok(Calls {
                fault: library.get(b"oracle_fault\0")?,
                memory: library.get(b"oracle_memory\0")?,
                init: library.get(b"oracle_init\0")?,
                run: library.get(b"oracle_run\0")?,
                run_many: library.get(b"oracle_run_many\0")?,
                complaint: library.get(b"oracle_complaint\0")?,
                complaints: library.get(b"oracle_complaints\0")?,
                core: library.get(b"oracle_core\0")?,
                pelt: library.get(b"oracle_pelt\0")?,
                task: library.get(b"oracle_task\0")?,
                current: library.get(b"oracle_current\0")?,
                tasks: library.get(b"oracle_tasks\0")?,
                groups: library.get(b"oracle_groups\0")?,
                now: library.get(b"oracle_now\0")?,
                bench_item_size: library.get(b"oracle_bench_item_size\0")?,
                bench_task_size: library.get(b"oracle_bench_task_size\0")?,
                bench_prepare: library.get(b"oracle_bench_prepare\0")?,
                bench_run: library.get(b"oracle_bench_run\0")?,
                bench_task: library.get(b"oracle_bench_task\0")?,
            })
        }
    }

    /// # Safety
    /// `library` is an oracle of this [`ABI`]; the block that comes back lives as long as it.
    unsafe fn set_up(
        library: &Library,
    ) -> Result<(Block, Vec<&'static str>, u32, u32), libloading::Error> {
        // SAFETY: the types are those of c/driver.c, as the caller promises. The names are constants of the library;
        // `features()` does not let them outlive it.
        unsafe {
            let size: c_fn!(() -> c_ulong) = library.get(b"oracle_data_size\0")?;
            let load: c_fn!((*mut c_void)) = library.get(b"oracle_load\0")?;
            let name: c_fn!((c_uint) -> *const c_char) = library.get(b"oracle_feature\0")?;
            let default: c_fn!(() -> c_uint) = library.get(b"oracle_default_features\0")?;
            let max_cpus: c_fn!(() -> c_uint) = library.get(b"oracle_max_cpus\0")?;
            let mut snapshot = Block::new(size() as usize);
            load(snapshot.address());
            let names = (0..).map(|i| name(i)).take_while(|name| !name.is_null());
            let names = names.filter_map(|name| CStr::from_ptr(name).to_str().ok()).collect();
            Ok((snapshot, names, default(), max_cpus()))
        }
    }

    /// The names of the scheduler features, in the order of their bits.
    pub fn features(&self) -> &[&str] {
        &self.features
    }

    /// The features that are on by default, one bit each.
    pub fn default_features(&self) -> u32 {
        self.default_features
    }

    /// The compiler that it was built with.
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    /// The most CPUs that a machine can have.
    pub fn max_cpus(&self) -> u32 {
        self.max_cpus
    }

    /// Makes a machine with idle CPUs, and forgets the one before. Microseconds for a small one.
    ///
    /// # Errors
    /// The kernel's own code gave up.
    ///
    /// # Panics
    /// `config` has no CPU, more than [`Oracle::max_cpus`], or no group.
    pub fn init(&mut self, config: &Config) -> Result<(), Complaint> {
        assert!((1..=self.max_cpus).contains(&config.cpus) && config.groups >= 1 && config.hz >= 1);
        // SAFETY: the library is loaded; `config` is read only.
        let bytes = unsafe { (self.calls.memory)(config) } as usize;
        if bytes > self.memory.bytes() {
            self.memory = Block::new(bytes);
        }
        let (address, size) = (self.memory.address(), self.memory.bytes());
        self.config = None;
        self.batch.1 = 0;
        // SAFETY: the block is as large as said and stays where it is until the next call of this function.
        let status = unsafe {
            fault::guard(*self.calls.fault, || (self.calls.init)(config, address, size as c_ulong))
        };
        if status != 0 {
            return Err(self.complaint().unwrap_or_else(Complaint::unknown));
        }
        self.config = Some(*config);
        Ok(())
    }

    /// The machine that there is.
    ///
    /// # Panics
    /// There is none: [`Oracle::init`] was not called, or the kernel's code gave up since.
    pub fn config(&self) -> &Config {
        self.config.as_ref().expect("a machine was made by init() and works still")
    }

    fn is_in_range(config: &Config, op: &Op) -> bool {
        let (task, cpu, group) = (op.a < config.tasks, op.b < config.cpus, op.c < config.groups);
        match op.kind {
            Kind::At | Kind::Timers => true,
            Kind::Task => task && cpu && group && op.d < 3,
            Kind::New | Kind::Nice | Kind::FinishDelayed => task,
            Kind::Wake => task && (cpu || op.b == u32::MAX),
            Kind::YieldTo | Kind::Migrate => task && cpu,
            Kind::Param => task && op.d < 3,
            Kind::Move => task && group,
            Kind::GroupNew => group && op.a < config.groups,
            Kind::Shares | Kind::GroupIdle | Kind::Quota => group,
            _ => cpu,
        }
    }

    /// Carries out `op`, which must be legal in the present state (what an illegal one does is up to the kernel's
    /// code: it may corrupt the machine, as it would corrupt a kernel).
    ///
    /// # Errors
    /// The kernel's own code gave up; the machine is gone.
    ///
    /// # Panics
    /// There is no machine, or `op` names a CPU, task or group beyond its numbers.
    #[inline]
    pub fn run(&mut self, op: &Op) -> Result<(), Complaint> {
        assert!(Self::is_in_range(self.config(), op), "{op:?} is out of range");
        // SAFETY: there is a machine, and the numbers are within it.
        let status = unsafe { fault::guard(*self.calls.fault, || (self.calls.run)(op)) };
        if status == 0 {
            return Ok(());
        }
        self.config = None;
        Err(self.complaint().unwrap_or_else(Complaint::unknown))
    }

    /// Carries out all of `ops` at full speed, with nothing in between: for timing.
    ///
    /// # Errors
    /// The kernel's own code gave up; the machine is gone.
    ///
    /// # Panics
    /// As [`Oracle::run`].
    pub fn run_many(&mut self, ops: &[Op]) -> Result<(), Complaint> {
        let config = *self.config();
        assert!(
            ops.iter().all(|op| Self::is_in_range(&config, op)),
            "an operation is out of range"
        );
        // SAFETY: there is a machine, and the numbers are within it.
        let done = unsafe {
            fault::guard(*self.calls.fault, || {
                (self.calls.run_many)(ops.as_ptr(), ops.len() as c_ulong)
            })
        };
        if done as usize == ops.len() {
            return Ok(());
        }
        self.config = None;
        Err(self.complaint().unwrap_or_else(Complaint::unknown))
    }

    /// Prepares a batch for [`Oracle::bench_run`].
    ///
    /// # Panics
    /// There is no machine, or an item names a CPU or task beyond its numbers.
    pub fn bench_prepare(&mut self, items: &[BenchItem]) {
        let config = *self.config();
        let known = |item: &BenchItem| item.task < config.tasks && item.cpu < config.cpus;
        assert!(items.iter().all(known), "an item is out of range");
        // SAFETY: a function without conditions.
        let bytes = items.len() * unsafe { (self.calls.bench_item_size)() } as usize;
        if bytes > self.batch.0.bytes() {
            self.batch.0 = Block::new(bytes);
        }
        self.batch.1 = items.len();
        let room = self.batch.0.address();
        // SAFETY: there is a machine, the numbers are within it, and the block has room for so many items; it stays
        // where it is until the next call of this function.
        unsafe { (self.calls.bench_prepare)(items.as_ptr(), items.len() as c_ulong, room) };
    }

    /// Does `kind` with each prepared item, where the kind allows it `repeat` times over. It must be legal in the
    /// present state, as with [`Oracle::run`].
    ///
    /// # Errors
    /// The kernel's own code gave up; the machine is gone.
    ///
    /// # Panics
    /// There is no machine.
    #[inline]
    pub fn bench_run(&mut self, kind: Bench, repeat: u32) -> Result<(), Complaint> {
        let _ = self.config();
        // SAFETY: there is a machine, and the items were made of its numbers; a new machine has none (see init()).
        let status = unsafe {
            fault::guard(*self.calls.fault, || (self.calls.bench_run)(kind as u32, repeat))
        };
        if status == 0 {
            return Ok(());
        }
        self.config = None;
        Err(self.complaint().unwrap_or_else(Complaint::unknown))
    }

    /// The task that the prepared item number `item` has now: a hand-off changes it.
    ///
    /// # Panics
    /// There is no such item.
    pub fn bench_task(&self, item: usize) -> u32 {
        assert!(item < self.batch.1, "no such item");
        // SAFETY: there are so many items.
        unsafe { (self.calls.bench_task)(item as c_ulong) }
    }

    /// How many bytes the kernel's struct task_struct has.
    pub fn task_size(&self) -> usize {
        // SAFETY: a function without conditions.
        unsafe { (self.calls.bench_task_size)() as usize }
    }

    /// What the kernel's own code complained of since the machine was made.
    pub fn complaint(&self) -> Option<Complaint> {
        let mut raw = RawComplaint { count: 0, fatal: 0, line: 0, file: [0; 128] };
        // SAFETY: it fills the structure and needs no machine.
        unsafe { (self.calls.complaint)(&mut raw) };
        let length = raw.file.iter().position(|&byte| byte == 0).unwrap_or(raw.file.len());
        let file = String::from_utf8_lossy(&raw.file[..length]).into_owned();
        (raw.count != 0).then_some(Complaint {
            count: raw.count,
            fatal: raw.fatal != 0,
            file,
            line: raw.line,
        })
    }

    /// Whether there is a [`Oracle::complaint`].
    #[inline]
    pub fn has_complaint(&self) -> bool {
        // SAFETY: a function without conditions.
        unsafe { (self.calls.complaints)() != 0 }
    }

    /// More numbers than a half of the state has.
    fn state_bound(&self) -> usize {
        let c = self.config();
        (c.cpus as usize) * (20 + c.groups as usize * 32) + c.tasks as usize * 20
    }

    /// Writes the core half of the state to `out`: the values of the fields in the order of the text form, names as
    /// numbers ([`NOBODY`], [`GROUP`]); for a word of `resched`, 0 none, 1 lazy, 2 now.
    ///
    /// # Panics
    /// There is no machine.
    #[inline]
    pub fn core(&self, out: &mut Vec<u64>) {
        self.state(&self.calls.core, out);
    }

    /// The same of the load tracking half.
    ///
    /// # Panics
    /// There is no machine.
    #[inline]
    pub fn pelt(&self, out: &mut Vec<u64>) {
        self.state(&self.calls.pelt, out);
    }

    #[inline]
    fn state(&self, call: &c_fn!((*mut u64) -> c_ulong), out: &mut Vec<u64>) {
        out.clear();
        out.reserve(self.state_bound());
        // SAFETY: there is a machine, and `out` has room for all numbers of a state of its size; the call tells how
        // many it wrote.
        unsafe {
            let n = call(out.as_mut_ptr());
            out.set_len(n as usize);
        }
    }

    /// What is known of task `number`; none if it is not alive.
    ///
    /// # Panics
    /// There is no machine, or no such number.
    pub fn task(&self, number: u32) -> Option<TaskInfo> {
        assert!(number < self.config().tasks);
        let mut info = TaskInfo::default();
        // SAFETY: there is a machine, and the number is within it.
        unsafe { (self.calls.task)(number, &mut info) };
        (info.live != 0).then_some(info)
    }

    /// The current task of `cpu` (none if it idles), and what it was told: 0 nothing, 1 lazy, 2 now.
    ///
    /// # Panics
    /// There is no machine, or no such CPU.
    pub fn current(&self, cpu: u32) -> (Option<u32>, u32) {
        assert!(cpu < self.config().cpus);
        let mut resched = 0;
        // SAFETY: there is a machine, and the CPU is one of it.
        let task = unsafe { (self.calls.current)(cpu, &mut resched) };
        ((task != u32::MAX).then_some(task), resched)
    }

    fn list(&self, call: &c_fn!((*mut *const c_uint) -> c_uint)) -> &[u32] {
        let _ = self.config();
        let mut numbers = std::ptr::null();
        // SAFETY: there is a machine; the numbers stand in its memory, which `self` owns and nobody changes while
        // it is borrowed.
        unsafe {
            let n = call(&mut numbers);
            if n == 0 { &[] } else { std::slice::from_raw_parts(numbers, n as usize) }
        }
    }

    /// The live tasks, oldest first.
    ///
    /// # Panics
    /// There is no machine.
    pub fn tasks(&self) -> &[u32] {
        self.list(&self.calls.tasks)
    }

    /// The groups, oldest first, the root group 0 among them.
    ///
    /// # Panics
    /// There is no machine.
    pub fn groups(&self) -> &[u32] {
        self.list(&self.calls.groups)
    }

    /// The clock, ns.
    pub fn now(&self) -> u64 {
        // SAFETY: a function without conditions.
        unsafe { (self.calls.now)() }
    }
}
