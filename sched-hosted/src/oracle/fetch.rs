// SPDX-License-Identifier: GPL-2.0-only
//! The verb `oracle fetch`: Debian's linux-source package, unpacked where the oracle can be built from it.

use super::say;
use crate::error::{EXIT_FINE, Error, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "linux-source-7.3";
const LIST: &str = "/etc/apt/sources.list.d/fairlab-linux-source.sources";
const PIN: &str = "/etc/apt/preferences.d/fairlab-linux-source";

/// Options of `oracle fetch`.
#[derive(Debug, clap::Args)]
pub struct FetchArgs {
    /// Where to unpack it; linux-7.3 in the oracle's cache if not given.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Where apt does not offer the package: add the Debian suites trixie and trixie-backports to
    /// apt's lists, pinned so low that nothing else comes from them. Needs root.
    #[arg(long)]
    add_suites: bool,
}

/// Gets and unpacks the package unless it is there.
///
/// # Errors
/// apt does not offer it, or it cannot be unpacked.
pub fn main(args: &FetchArgs, out: &mut dyn Write) -> Result<u8> {
    let cache = kernel_oracle::build::default_cache();
    let to = args.to.clone().unwrap_or_else(|| cache.join("linux-7.3"));
    if !to.join("kernel/sched/fair.c").exists() {
        if !offered() && args.add_suites {
            add_suites()?;
        }
        if !offered() {
            return Err(Error::not_possible(
                format!("apt does not offer {PACKAGE}"),
                "let it: 'fairlab oracle fetch --add-suites' as root on Debian; or unpack any tree of Linux 7.3 and run \
                 'fairlab oracle build TREE'",
            ));
        }
        unpack(&to)?;
    }
    let to = to.display();
    say(out, &format!("Linux 7.3 is in {to}\nNext: fairlab oracle build {to}\n"))?;
    Ok(EXIT_FINE)
}

fn offered() -> bool {
    let out = Command::new("apt-cache").args(["policy", PACKAGE]).output();
    out.is_ok_and(|out| {
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text.lines().any(|line| line.contains("Candidate:") && !line.contains("(none)"))
    })
}

fn add_suites() -> Result<()> {
    let base = "/etc/apt/sources.list.d/debian.sources";
    let text = fs::read_to_string(base).map_err(|source| Error::read(base, source))?;
    let uri = text.lines().find_map(|line| line.strip_prefix("URIs:")).map(str::trim).ok_or_else(
        || {
            Error::not_possible(
                format!("{base} names no archive"),
                "add a suite with the package to apt's lists by hand",
            )
        },
    )?;
    let list = format!(
        "Types: deb\nURIs: {uri}\nSuites: trixie trixie-backports\nComponents: main\n\
         Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    );
    let pin = "Package: *\nPin: release n=trixie*\nPin-Priority: 50\n";
    for (path, text) in [(LIST, list.as_str()), (PIN, pin)] {
        fs::write(path, text).map_err(|source| Error::write(path, source))?;
    }
    run(Command::new("apt-get").args(["-q", "update"]))
}

fn unpack(to: &Path) -> Result<()> {
    let bad = |path: &Path, source| Error::write(&path.display().to_string(), source);
    let above = to.parent().unwrap_or(to);
    fs::create_dir_all(above).map_err(|source| bad(above, source))?;
    let work = above.join(format!(".fetch-{}", std::process::id()));
    fs::create_dir_all(&work).map_err(|source| bad(&work, source))?;
    let done = unpack_in(&work, to);
    let _ = fs::remove_dir_all(&work);
    done
}

fn unpack_in(work: &Path, to: &Path) -> Result<()> {
    eprintln!("fairlab: downloading {PACKAGE} (about 170 MB) ...");
    let mut apt = Command::new("apt-get");
    run(apt.current_dir(work).args(["-q", "-o", "APT::Sandbox::User=root", "download", PACKAGE]))?;
    let package = first(work, "deb")?;
    eprintln!("fairlab: unpacking ...");
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(work.join("x")))?;
    let archive = first(&work.join("x/usr/src"), "xz")?;
    let tree = work.join("tree");
    fs::create_dir_all(&tree)
        .map_err(|source| Error::write(&tree.display().to_string(), source))?;
    run(Command::new("tar")
        .arg("-C")
        .arg(&tree)
        .args(["--strip-components=1", "-xf"])
        .arg(&archive))?;
    // A tree that is half there must not look like a whole one.
    fs::rename(&tree, to).map_err(|source| Error::write(&to.display().to_string(), source))
}

/// The first file in `dir` whose name ends so.
fn first(dir: &Path, extension: &str) -> Result<PathBuf> {
    let entries =
        fs::read_dir(dir).map_err(|source| Error::read(&dir.display().to_string(), source))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.find(|path| path.extension() == Some(OsStr::new(extension))).ok_or_else(|| {
        Error::not_possible(format!("{PACKAGE} holds no .{extension} file"), "unpack it by hand")
    })
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| {
        Error::not_possible(format!("{program} failed: {why}"), "see what it says by hand")
    };
    let out = command.output().map_err(|source| failed(source.to_string()))?;
    if out.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    Err(failed(text.lines().next_back().unwrap_or("no message").trim().to_string()))
}
