// SPDX-License-Identifier: GPL-2.0-only
//! What a result holds for: revision, machine, compilers, the sides; and the file that keeps results.

use super::measure::Measured;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// All that was found, as it is written to a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// What it holds for.
    pub setting: Setting,
    /// The rows.
    pub rows: Vec<Measured>,
}

/// What a result holds for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The program's version and revision.
    pub fairlab: String,
    /// The machine: processor and number of CPUs.
    pub machine: String,
    /// The Rust compiler and the profile.
    pub compiler: String,
    /// The kernel, its flags and its compiler; none without a C side.
    pub kernel: Option<String>,
    /// The sides, in the order of the rows' numbers: the ratio is the first against each other.
    pub sides: Vec<String>,
    /// How often the sides took turns.
    pub alternations: u32,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// The compiler of this program, and its profile.
pub fn compiler() -> String {
    format!("{}, profile {}", env!("FAIRLAB_RUSTC"), env!("FAIRLAB_PROFILE"))
}

/// The processor's name and how many CPUs there are.
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let noun = if cpus == 1 { "CPU" } else { "CPUs" };
    format!("{model}, {cpus} {noun} to run on")
}

impl Results {
    /// Reads a file that [`Results::json`] made.
    ///
    /// # Errors
    /// It cannot be read, or is no such file.
    pub fn read(path: &str) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::read(path, source))?;
        serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line() as u32, error.column() as u32);
            Error::bad_input(
                path,
                line,
                column,
                "this is no result of fairlab bench",
                "make it with --json",
            )
        })
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
