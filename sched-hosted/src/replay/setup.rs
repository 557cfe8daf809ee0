// SPDX-License-Identifier: GPL-2.0-only
//! What a recording does not say and the user may know: groups with shares and quotas, who is in them, custom slices and
//! policies. A TOML file:
//!
//! ```toml
//! [[group]]
//! path = "/A"            # groups above it come first
//! weight = 100           # cpu.weight; or: shares = 1024
//! max = "20000 100000"   # cpu.max in us: quota and period
//!
//! [[task]]
//! comm = "A_*"           # * and ? as a shell has them; or: pid = 422
//! group = "/A"
//! slice = "0.4ms"        # as sched_setattr(2) gives it
//! policy = "batch"       # normal, batch, idle
//! ```
//!
//! A task has what the first entry says that fits it; its children inherit that, unless an entry fits them.

use crate::cli::duration_ns;
use crate::error::{Error, Result, quote};
use crate::ops::Policy;
use serde::Deserialize;

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The groups, in the order in which they are made.
    #[serde(default, rename = "group")]
    pub groups: Vec<Group>,
    /// The tasks.
    #[serde(default, rename = "task")]
    pub tasks: Vec<Rule>,
}

/// A task group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its path, like `/A/b`.
    pub path: String,
    /// cpu.weight, 1 to 10000.
    pub weight: Option<u64>,
    /// cpu.shares (1024 is a weight of 100).
    pub shares: Option<u64>,
    /// cpu.max: `QUOTA PERIOD` in us, or `max`.
    pub max: Option<String>,
    /// cpu.idle.
    #[serde(default)]
    pub idle: bool,
}

/// What is known of some tasks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Their comm, with * and ?.
    pub comm: Option<String>,
    /// Their pid.
    pub pid: Option<u32>,
    /// The path of their group.
    pub group: Option<String>,
    /// Their custom slice, with its unit.
    pub slice: Option<String>,
    /// Their policy: normal, batch or idle.
    pub policy: Option<String>,
}

/// What applies to a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Params {
    /// The index of its group in [`Setup::groups`] plus 1; 0 is the root group.
    pub group: usize,
    /// Its custom slice, ns; 0: the default.
    pub slice_ns: u64,
    /// Its policy.
    pub policy: Policy,
}

impl Setup {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or says something that cannot be.
    pub fn load(path: &str) -> Result<Setup> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::read(path, error))?;
        Setup::parse(path, &text)
    }

    /// The same from its text.
    ///
    /// # Errors
    /// As [`Setup::load`].
    pub fn parse(path: &str, text: &str) -> Result<Setup> {
        let setup: Setup = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |feed| feed + 1) + 1;
            let what = error.message().lines().next().unwrap_or_default().to_string();
            Error::bad_input(
                path,
                line as u32,
                column as u32,
                what,
                "see 'What a recording does not say' in Documentation/replay.rst for the form",
            )
        })?;
        setup.check().map_err(|(what, remedy)| Error::bad_input(path, 1, 1, what, remedy))?;
        Ok(setup)
    }

    fn check(&self) -> std::result::Result<(), (String, String)> {
        let mut known = vec!["/"];
        for group in &self.groups {
            let path = group.path.as_str();
            let named = |part: &str| {
                !part.is_empty()
                    && part.len() < 32
                    && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.-".contains(&c))
            };
            if !path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(named)) {
                return Err((
                    format!("group {}: this is no path", quote(path)),
                    "write / and names of letters, digits and _.-, like /A/b".to_string(),
                ));
            }
            let above = path.rsplit_once('/').map_or("/", |(above, _)| above);
            let above = if above.is_empty() { "/" } else { above };
            if !known.contains(&above) || known.contains(&path) {
                return Err((
                    format!(
                        "group {}: the group above it is missing, or it is there twice",
                        quote(path)
                    ),
                    "name each group once, those above first".to_string(),
                ));
            }
            known.push(path);
            group.shares().ok_or_else(|| out_of_range(path, "weight or shares"))?;
            group.quota_us().ok_or_else(|| out_of_range(path, "max"))?;
        }
        for rule in &self.tasks {
            let whom = rule.comm.clone().unwrap_or_default();
            if rule.comm.is_none() && rule.pid.is_none() {
                return Err(("a task without comm and pid".into(), "say whom it is about".into()));
            }
            if let Some(group) = &rule.group
                && !known.contains(&group.as_str())
            {
                return Err((
                    format!("task {}: there is no group {}", quote(whom), quote(group)),
                    "add a [[group]] with that path".to_string(),
                ));
            }
            rule.slice_ns().map_err(|what| (what, "write it like 0.4ms".to_string()))?;
            if rule.policy().is_none() {
                return Err((
                    format!("task {}: unknown policy", quote(whom)),
                    "use normal, batch or idle".to_string(),
                ));
            }
        }
        Ok(())
    }

    /// What applies to the task with this pid and comm; `inherited` where no entry fits.
    pub fn params(&self, pid: u32, comm: &[u8], inherited: Params) -> Params {
        let Some(rule) = self.tasks.iter().find(|rule| rule.fits(pid, comm)) else {
            return inherited;
        };
        let group = rule.group.as_deref().unwrap_or("/");
        Params {
            group: self.groups.iter().position(|one| one.path == group).map_or(0, |at| at + 1),
            slice_ns: rule.slice_ns().unwrap_or_default(),
            policy: rule.policy().unwrap_or_default(),
        }
    }

    /// Whether any group has a quota.
    pub fn has_quota(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.quota_us(), Some(Some(_))))
    }
}

fn out_of_range(path: &str, what: &str) -> (String, String) {
    (
        format!("group {}: {what} is out of range", quote(path)),
        "weight: 1 to 10000; shares: 2 to 262144; max: \"QUOTA PERIOD\" in us, 1000 or more, or \"max\""
            .to_string(),
    )
}

impl Group {
    /// cpu.shares; none if what is given is out of range.
    pub fn shares(&self) -> Option<u64> {
        let shares = match (self.shares, self.weight) {
            (Some(shares), None) => shares,
            (None, Some(weight @ 1..=10_000)) => (weight * 1024 + 50) / 100,
            (None, None) => 1024,
            _ => return None,
        };
        (2..=262_144).contains(&shares).then_some(shares)
    }

    /// The quota and the period, us, if there is one; none if it is out of range.
    pub fn quota_us(&self) -> Option<Option<(u64, u64)>> {
        let Some(text) = self.max.as_deref().filter(|text| text.trim() != "max") else {
            return Some(None);
        };
        let mut words = text.split_whitespace();
        let quota: u64 = words.next()?.parse().ok()?;
        let period: u64 = words.next().map_or(Some(100_000), |word| word.parse().ok())?;
        let fine = (1000..=1 << 40).contains(&quota)
            && (1000..=1_000_000).contains(&period)
            && words.next().is_none();
        fine.then_some(Some((quota, period)))
    }
}

impl Rule {
    fn fits(&self, pid: u32, comm: &[u8]) -> bool {
        self.pid.is_none_or(|known| known == pid)
            && self.comm.as_ref().is_none_or(|pattern| fits(pattern.as_bytes(), comm))
    }

    fn slice_ns(&self) -> std::result::Result<u64, String> {
        self.slice.as_deref().map_or(Ok(0), duration_ns)
    }

    fn policy(&self) -> Option<Policy> {
        match self.policy.as_deref() {
            None => Some(Policy::Normal),
            Some(word) => Policy::ALL.into_iter().find(|policy| policy.word() == word),
        }
    }
}

/// Whether `text` is as `pattern` says, in which `*` stands for anything and `?` for one byte.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, fit) in [
            ("A_*", "A_12", true),
            ("A_*", "B_12", false),
            ("*", "", true),
            ("a?c*e", "abcde", true),
            ("a?c*e", "abcdef", false),
            ("**x", "xxx", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), fit, "{pattern} {text}");
        }
    }

    #[test]
    fn groups_slices_and_who_has_them() {
        let text = "[[group]]\npath='/A'\nweight=300\nmax='20000 100000'\n[[group]]\npath='/A/b'\n\
                    [[task]]\ncomm='b_*'\ngroup='/A/b'\nslice='0.4ms'\npolicy='batch'\n";
        let setup = Setup::parse("x.toml", text).unwrap();
        assert_eq!(setup.groups[0].shares(), Some(3072));
        assert_eq!(setup.groups[0].quota_us(), Some(Some((20_000, 100_000))));
        assert!(setup.has_quota());
        let params = setup.params(7, b"b_1", Params::default());
        assert_eq!(params, Params { group: 2, slice_ns: 400_000, policy: Policy::Batch });
        assert_eq!(setup.params(7, b"c", params), params);
    }

    #[test]
    fn what_is_wrong_is_one_line_with_a_place() {
        for (text, place) in [
            ("[[group]\n", "x.toml:1:"),
            ("[[task]]\ncom='x'\n", "x.toml:"),
            ("[[task]]\n", "x.toml:1:1: a task without comm"),
            ("[[group]]\npath='A'\n", "x.toml:1:1: group 'A'"),
            ("[[group]]\npath='/A/b'\n", "above it"),
            ("[[group]]\npath='/A'\nweight=0\n", "out of range"),
            ("[[group]]\npath='/A'\nmax='5'\n", "out of range"),
            ("[[task]]\ncomm='x'\ngroup='/A'\n", "no group"),
            ("[[task]]\ncomm='x'\nslice='4'\n", "unit"),
            ("[[task]]\ncomm='x'\npolicy='fifo'\n", "policy"),
        ] {
            let error = Setup::parse("x.toml", text).unwrap_err().to_string();
            assert!(error.contains(place) && error.lines().count() == 1, "{error}");
        }
    }
}
