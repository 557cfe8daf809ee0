// SPDX-License-Identifier: GPL-2.0-only
//! From a kernel tree to a shared object, by way of the cache: headers are prepared out of tree once, objects are
//! compiled once for each state of the sources. The tree itself is only read.

use crate::error::Error;
use crate::extract::definitions;
use crate::pieces::PIECES;
use crate::tree::Tree;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oracle's own C files: name and text.
const OWN: [(&str, &str); 8] = [
    ("prefix.h", include_str!("../c/prefix.h")),
    ("oracle.h", include_str!("../c/oracle.h")),
    ("environment.h", include_str!("../c/environment.h")),
    ("operations.h", include_str!("../c/operations.h")),
    ("show.h", include_str!("../c/show.h")),
    ("bench.h", include_str!("../c/bench.h")),
    ("driver.c", include_str!("../c/driver.c")),
    ("freestanding.c", include_str!("../c/freestanding.c")),
];
const LINKER_SCRIPT: &str = include_str!("../c/oracle.lds");

/// Files of the tree that are compiled as they are.
const WHOLE: [&str; 3] = ["kernel/sched/pelt.c", "lib/rbtree.c", "lib/find_bit.c"];

/// What the configuration has, beyond the default of the um architecture.
#[rustfmt::skip]
const CONFIG: &[&str] = &[
    "-e", "CGROUPS", "-e", "CGROUP_SCHED", "-e", "FAIR_GROUP_SCHED", "-e", "CFS_BANDWIDTH", "-e", "SMP",
    "--set-val", "NR_CPUS", "64", "-e", "CC_OPTIMIZE_FOR_PERFORMANCE", "-d", "CC_OPTIMIZE_FOR_SIZE", "-d", "PSI",
    "-d", "SCHEDSTATS", "-d", "NUMA_BALANCING", "-d", "SCHED_CORE", "-d", "SCHED_CACHE", "-d", "SCHED_AUTOGROUP",
    "-d", "UCLAMP_TASK", "-d", "NET", "-d", "BLOCK", "-d", "MODULES", "-d", "FTRACE", "-d", "TRACING",
    "-d", "SCHED_CLASS_EXT",
];

/// Programs that the build runs, and the Debian packages that they are in.
const TOOLS: [(&str, &str); 7] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("nm", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
];

/// A shared object that was built, now or before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// The shared object.
    pub path: PathBuf,
    /// It was in the cache already.
    pub cached: bool,
}

/// Where oracles are kept: `fairlab/oracle` below `$XDG_CACHE_HOME`, or below `~/.cache`.
pub fn default_cache() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home =
        || std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from).join(".cache");
    base.unwrap_or_else(home).join("fairlab").join("oracle")
}

/// Builds the oracle of `tree` in `cache` unless it is there. `progress` is told what is being done.
///
/// # Errors
/// A program that is needed is missing, the kernel's own build fails, or the sources do not compile.
pub fn build(tree: &Tree, cache: &Path, progress: &mut dyn FnMut(&str)) -> Result<Built, Error> {
    let texts: Vec<&str> = OWN.iter().map(|own| own.1).chain([LINKER_SCRIPT]).collect();
    let headers = tree.headers_key()?;
    let dir = cache.join(format!("{}-{headers}-{}", tree.release(), tree.sources_key(&texts)?));
    let path = dir.join("oracle.so");
    if path.exists() {
        return Ok(Built { path, cached: true });
    }
    need_tools()?;
    make_dir(cache)?;
    // One build at a time: two would prepare the same headers.
    let _lock = lock(&cache.join("lock"))?;
    if path.exists() {
        return Ok(Built { path, cached: true });
    }
    let prepared =
        prepare(tree, &cache.join(format!("headers-{}-{headers}", tree.release())), progress)?;
    progress("compiling kernel/sched/fair.c and what is around it");
    let scratch = tempfile::TempDir::with_prefix_in("building-", cache)
        .map_err(|source| Error::Io { path: cache.to_path_buf(), source })?;
    compile(tree, &prepared, scratch.path())?;
    make_dir(&dir)?;
    // Renamed into place, so that a build that is cut off, or one beside this, leaves nothing half done.
    let from = scratch.path().join("oracle.so");
    fs::rename(&from, &path).map_err(|source| Error::Io { path: path.clone(), source })?;
    Ok(Built { path, cached: false })
}

/// Waits until no other process holds the lock file, and holds it until the file is dropped.
fn lock(path: &Path) -> Result<fs::File, Error> {
    let locked = fs::File::create(path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| Error::Io { path: path.to_path_buf(), source })
}

fn make_dir(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(|source| Error::Io { path: dir.to_path_buf(), source })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::Io { path: path.to_path_buf(), source })
}

fn need_tools() -> Result<(), Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |tool: &str| std::env::split_paths(&path).any(|dir| dir.join(tool).is_file());
    let missing: Vec<_> = TOOLS.iter().filter(|(tool, _)| !there(tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = |f: fn(&(&'static str, &'static str)) -> &'static str| {
        missing.iter().map(|&pair| f(pair)).collect::<Vec<_>>().join(" ")
    };
    Err(Error::Build {
        what: format!(
            "building the oracle needs programs that are not here: {}",
            list(|pair| pair.0)
        ),
        remedy: format!("install them, on Debian with: apt-get install {}", list(|pair| pair.1)),
    })
}

/// Headers that are ready, and the kernel's own flags.
struct Prepared {
    dir: PathBuf,
    flags: Vec<String>,
}

/// Runs the kernel's own build far enough that fair.c can be compiled, in a folder of its own.
fn prepare(tree: &Tree, dir: &Path, progress: &mut dyn FnMut(&str)) -> Result<Prepared, Error> {
    let command_file = dir.join("kernel/sched/.fair.o.cmd");
    // The path of the tree it was made with stands in a file: another copy of the same headers may use it too.
    let stamp = dir.join("prepared-from");
    if !(stamp.exists() && command_file.exists()) {
        make_dir(dir)?;
        let make = |targets: &[&str]| {
            let mut command = Command::new("make");
            command.arg("-C").arg(tree.root()).arg(format!("O={}", dir.display())).arg("ARCH=um");
            // A user's own settings for building kernels must not reach this one.
            for name in
                ["MAKEFLAGS", "MFLAGS", "KBUILD_OUTPUT", "CROSS_COMPILE", "KCFLAGS", "LLVM", "CC"]
            {
                command.env_remove(name);
            }
            run(command.arg(format!("-j{}", jobs())).args(targets), "the kernel's own make")
        };
        progress("preparing headers: the kernel's own make, out of tree");
        make(&["defconfig"])?;
        let config = tree.root().join("scripts/config");
        run(
            Command::new(&config).arg("--file").arg(dir.join(".config")).args(CONFIG),
            "scripts/config",
        )?;
        make(&["olddefconfig", "prepare"])?;
        progress("compiling kernel/sched/fair.o once, to learn the kernel's flags");
        make(&["kernel/sched/fair.o"])?;
        write(&stamp, &tree.root().display().to_string())?;
    }
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })
    };
    let flags = flags(&read(&command_file)?, &read(&stamp)?, tree)?;
    Ok(Prepared { dir: dir.to_path_buf(), flags })
}

fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The compiler's flags in a `.cmd` file of the kernel's build, made with the tree `from`: for `tree`, for a shared
/// object, without warnings.
fn flags(command_file: &str, from: &str, tree: &Tree) -> Result<Vec<String>, Error> {
    let odd = || Error::Build {
        what: "the kernel's build left no command for kernel/sched/fair.o".to_string(),
        remedy: "remove the cache folder and build again".to_string(),
    };
    let line =
        command_file.lines().next().and_then(|line| line.split_once(":= ")).ok_or_else(odd)?.1;
    let words = shlex::split(line).ok_or_else(odd)?;
    let to = tree.root().display().to_string();
    let mut flags = Vec::new();
    let mut words = words.into_iter().skip(1);
    while let Some(word) = words.next() {
        if word == "-o" {
            words.next();
        } else if !(word.starts_with("-W")
            || word.starts_with("-g")
            || word.starts_with("-mcmodel")
            || matches!(word.as_str(), "-c" | "-fno-PIE" | ";")
            || word.ends_with("/fair.c"))
        {
            flags.push(word.replace(from.trim_end(), &to));
        }
    }
    flags.extend(["-fPIC", "-w", "-Werror=implicit-function-declaration"].map(str::to_string));
    flags.push("-Werror=incompatible-pointer-types".to_string());
    Ok(flags)
}

/// What is taken out of the tree by name, as one header.
fn pieces(tree: &Tree) -> Result<String, Error> {
    let mut text = String::new();
    for (file, names) in PIECES {
        let source = tree.read(file)?;
        for name in *names {
            for definition in definitions(&source, name) {
                text.push_str(&definition.guarded(file));
                text.push('\n');
            }
        }
    }
    Ok(text)
}

fn compile(tree: &Tree, prepared: &Prepared, dir: &Path) -> Result<(), Error> {
    for (name, text) in OWN {
        write(&dir.join(name), text)?;
    }
    write(&dir.join("oracle.lds"), LINKER_SCRIPT)?;
    write(&dir.join("core_pieces.h"), &pieces(tree)?)?;
    let mut objects = Vec::new();
    let kernel = WHOLE.iter().map(|file| tree.root().join(file)).chain([dir.join("driver.c")]);
    let mut running = Vec::new();
    for source in kernel {
        let object = dir.join(source.file_stem().unwrap_or_default()).with_extension("o");
        let mut command = Command::new("gcc");
        command
            .current_dir(&prepared.dir)
            .arg("-include")
            .arg(dir.join("prefix.h"))
            .args(&prepared.flags);
        command.arg("-I").arg(dir).arg("-c").arg(&source).arg("-o").arg(&object);
        running.push((spawn(&mut command)?, format!("compiling {}", source.display())));
        objects.push(object);
    }
    for (child, what) in running {
        finish(child, &what)?;
    }
    objects.push(compile_plain(dir, "freestanding.c")?);
    write(&dir.join("stubs.c"), &stubs(&objects)?)?;
    objects.push(compile_plain(dir, "stubs.c")?);
    let mut link = Command::new("gcc");
    link.args(["-shared", "-nostdlib", "-Wl,-z,norelro", "-Wl,-z,now", "-Wl,--build-id=none"]);
    link.arg("-Wl,-T")
        .arg(dir.join("oracle.lds"))
        .arg("-o")
        .arg(dir.join("oracle.so"))
        .args(&objects);
    run(&mut link, "linking the oracle").map(|_| ())
}

fn compile_plain(dir: &Path, name: &str) -> Result<PathBuf, Error> {
    let object = dir.join(name).with_extension("o");
    let mut command = Command::new("gcc");
    command.args([
        "-O2",
        "-fPIC",
        "-w",
        "-ffreestanding",
        "-fno-builtin",
        "-fno-stack-protector",
        "-c",
    ]);
    run(command.arg(dir.join(name)).arg("-o").arg(&object), &format!("compiling {name}"))?;
    Ok(object)
}

/// Definitions for whatever the objects need and none of them has: to call one says so.
fn stubs(objects: &[PathBuf]) -> Result<String, Error> {
    let names = |option: &str| -> Result<Vec<String>, Error> {
        let out = run(Command::new("nm").arg("-A").arg(option).args(objects), "nm")?;
        Ok(out
            .lines()
            .filter_map(|line| line.split_whitespace().next_back())
            .map(str::to_string)
            .collect())
    };
    let defined = names("--defined-only")?;
    let mut missing = names("-u")?;
    missing.sort();
    missing.dedup();
    missing.retain(|name| !defined.contains(name));
    let by_the_linker =
        ["_GLOBAL_OFFSET_TABLE_", "__ehdr_start", "__per_cpu_start", "__per_cpu_end"];
    missing.retain(|name| !by_the_linker.contains(&name.as_str()));
    let mut text =
        "#pragma GCC visibility push(hidden)\nvoid oracle_missing(const char *);\n".to_string();
    for name in missing {
        text.push_str(&format!("void {name}(void) {{ oracle_missing(\"{name}\"); }}\n"));
    }
    Ok(text)
}

fn spawn(command: &mut Command) -> Result<std::process::Child, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(
        |source| Error::Build {
            what: format!("{program} cannot be run ({source})"),
            remedy: "install it".to_string(),
        },
    )
}

fn finish(child: std::process::Child, what: &str) -> Result<String, Error> {
    let out = child.wait_with_output().map_err(|source| Error::Build {
        what: format!("{what} failed ({source})"),
        remedy: "try again".to_string(),
    })?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let is_error =
        |line: &&str| line.contains("error:") || line.contains("***") || line.contains("not found");
    let first =
        text.lines().find(is_error).or_else(|| text.lines().next_back()).unwrap_or("no message");
    Err(Error::Build {
        what: format!("{what} failed: {}", first.trim()),
        remedy: "if the tree is patched, does it compile? A release that the oracle does not know needs a sync (Documentation/oracle.rst)".to_string(),
    })
}

fn run(command: &mut Command, what: &str) -> Result<String, Error> {
    finish(spawn(command)?, what)
}

/// The names of the oracles in `cache`, each a release and two hashes; empty if there are none.
pub fn list(cache: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(cache) else { return Vec::new() };
    let built = entries.flatten().filter(|entry| entry.path().join("oracle.so").exists());
    let mut names: Vec<String> =
        built.filter_map(|entry| entry.file_name().to_str().map(str::to_string)).collect();
    names.sort_by(|a, b| OsStr::new(a).cmp(OsStr::new(b)));
    names
}
