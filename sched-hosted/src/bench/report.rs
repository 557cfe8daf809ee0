// SPDX-License-Identifier: GPL-2.0-only
//! The results as text: a head, a line a row, a summary; and as a table for a README.

use super::measure::{Measured, Ratio, geometric_mean};
use super::rows::{Mix, Path, Row, Situation, TASKS};
use super::setting::{Results, Setting};
use std::fmt::Write;

/// A row is slower than C only if its whole interval is beyond this.
pub const SLOWER: f64 = 1.05;

/// What a row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// The sides ended in different states: they did not do the same.
    Differs,
    /// The path was never met.
    Never,
    /// The whole interval is below 1.
    Faster,
    /// The whole interval is above [`SLOWER`], or above 1 against an own other side.
    Slower,
    /// Neither.
    Same,
}

impl Word {
    const fn text(self) -> &'static str {
        match self {
            Word::Differs => "other state",
            Word::Never => "never met",
            Word::Faster => "faster",
            Word::Slower => "slower",
            Word::Same => "",
        }
    }
}

/// The word for a row's first side against the other one number `other`.
pub fn word(row: &Measured, other: usize, slower: f64) -> Word {
    match row.ratios.get(other).copied().flatten() {
        _ if row.same.get(other) == Some(&false) => Word::Differs,
        None => Word::Never,
        Some(Ratio { high, .. }) if high < 1.0 => Word::Faster,
        Some(Ratio { low, .. }) if low > slower => Word::Slower,
        Some(_) => Word::Same,
    }
}

/// The word for a row's first side against one of our own, that may be there twice: what is not seen against both is
/// the luck of how a machine lies in memory. Other states are what a patch may make.
fn own_word(row: &Measured) -> Word {
    let words: Vec<Word> = (0..row.ratios.len())
        .map(|other| word(&Measured { same: Vec::new(), ..row.clone() }, other, 1.0))
        .collect();
    match words.first() {
        Some(first) if words.iter().all(|word| word == first) => *first,
        _ => Word::Same,
    }
}

/// How far the second of two equal sides lies from the first: the median over the rows, percent. None without them.
fn noise_percent(rows: &[Measured]) -> Option<f64> {
    let apart = rows.iter().filter_map(|row| {
        let (one, two) =
            (row.ratios.first().copied().flatten()?, row.ratios.get(1).copied().flatten()?);
        Some((one.median / two.median - 1.0).abs() * 100.0)
    });
    super::measure::median(&apart.collect::<Vec<_>>())
}

/// Whether all sides are the class here: base and patch, or two revisions.
fn is_own(setting: &Setting) -> bool {
    setting.kernel.is_none() && setting.sides.len() > 1
}

/// The head: what the results hold for, and the names of the columns.
pub fn head(setting: &Setting) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "fairlab {}, class v7.3, {}", setting.fairlab, setting.compiler);
    let _ = writeln!(out, "  machine  {}", setting.machine);
    if let Some(kernel) = &setting.kernel {
        let _ = writeln!(out, "  C        {kernel}");
    }
    let runs = setting.alternations;
    let _ = writeln!(out, "  sides    {}, {runs} times by turns", setting.sides.join(" and "));
    for note in &setting.notes {
        let _ = writeln!(out, "  note     {note}");
    }
    let _ = write!(out, "\n{:<28}", "path/tasks/levels/mix");
    for side in &setting.sides {
        let _ = write!(out, " {:>9}", column(side));
    }
    if setting.sides.len() > 1 {
        out.push_str("  ratio   95 % interval   instructions");
    }
    out.push('\n');
    out
}

/// A side's name cut to a column.
fn column(side: &str) -> String {
    side.chars().take(9).collect()
}

/// A row's line.
pub fn line(setting: &Setting, row: &Measured) -> String {
    let mut out = format!("{:<28}", row.row);
    for ns in &row.ns {
        let _ = write!(out, " {:>9}", number(*ns, 1));
    }
    // Whom the first side is compared with stands beside it; what comes after that is the same once more.
    match row.ratios.first().copied().flatten() {
        Some(Ratio { median, low, high }) => {
            let _ = write!(out, "  {median:>5.3}   {low:>5.3} to {high:>5.3}");
        }
        None => out.push_str(&" ".repeat(24)),
    }
    for count in row.instructions.iter().take(2) {
        let _ = write!(out, " {:>7}", number(*count, 1));
    }
    let word = if is_own(setting) { own_word(row) } else { word(row, 0, SLOWER) };
    let _ = write!(out, "  {}", word.text());
    let mut out = out.trim_end().to_string();
    out.push('\n');
    out
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_string(), |value| format!("{value:.digits$}"))
}

/// What it comes to.
pub fn summary(results: &Results) -> String {
    let setting = &results.setting;
    let [first, other, ..] = &setting.sides[..] else { return String::new() };
    let ratios = results.rows.iter().filter_map(|row| row.ratios.first().copied().flatten());
    let Some(mean) = geometric_mean(ratios.map(|ratio| ratio.median)) else { return String::new() };
    let own = is_own(setting);
    let word = |row: &Measured| if own { own_word(row) } else { word(row, 0, SLOWER) };
    let count = |wanted| results.rows.iter().filter(|row| word(row) == wanted).count();
    let (faster, slower, never) = (count(Word::Faster), count(Word::Slower), count(Word::Never));
    let mut out = format!(
        "\n{first} against {other}: {mean:.3} as the geometric mean of {} rows; {faster} faster, {slower} slower, \
         {never} never met",
        results.rows.len() - never
    );
    if own {
        out.push_str(".\n");
        if let Some(noise) = noise_percent(&results.rows) {
            let _ = writeln!(
                out,
                "  base against itself: {noise:.1} % apart as the median of the rows"
            );
        }
        out.push_str(&gains_and_costs(&results.rows));
    } else {
        let _ = writeln!(out, ", {} in another state.", count(Word::Differs));
    }
    out
}

/// Of two sides that are both ours: what the first gains, where it does, and what it costs elsewhere.
fn gains_and_costs(rows: &[Measured]) -> String {
    let met: Vec<&Measured> =
        rows.iter().filter(|row| row.ratios.first().copied().flatten().is_some()).collect();
    let fewer = |row: &Measured| instructions(row).is_some_and(|change| change < -0.05);
    let counted = met.iter().any(|row| instructions(row).is_some());
    // Instructions tell exactly; time only where its whole interval does.
    let gained = |row: &&Measured| {
        if counted { fewer(row) } else { own_word(row) == Word::Faster }
    };
    let (gains, rest): (Vec<&Measured>, Vec<&Measured>) = met.into_iter().partition(gained);
    let mut out = String::new();
    for row in &gains {
        let _ = writeln!(out, "  gains at {:<26} {}", row.row, change(row));
    }
    if gains.is_empty() {
        out.push_str("  gains nowhere\n");
    }
    let ratios = rest.iter().filter_map(|row| Some(row.ratios[0]?.median));
    if let Some(mean) = geometric_mean(ratios) {
        let percent = (mean - 1.0) * 100.0;
        let changes: Vec<f64> = rest.iter().filter_map(|row| instructions(row)).collect();
        let _ = write!(out, "  elsewhere ({} rows): {percent:+.2} % time", rest.len());
        if let Some(most) = changes.iter().copied().max_by(f64::total_cmp) {
            let mean = changes.iter().sum::<f64>() / changes.len() as f64;
            let _ = write!(out, ", {mean:+.2} instructions an operation (most: {most:+.2})");
        }
        out.push('\n');
    }
    let worst = rest.iter().filter(|row| own_word(row) == Word::Slower);
    for row in worst {
        let _ = writeln!(out, "  costs at {:<26} {}", row.row, change(row));
    }
    out
}

/// How many more instructions an operation takes on the first side than on the second.
fn instructions(row: &Measured) -> Option<f64> {
    Some((*row.instructions.first()?)? - (*row.instructions.get(1)?)?)
}

fn change(row: &Measured) -> String {
    let mut out = String::new();
    if let (Some(base), Some(ratio)) = (row.ns[1], row.ratios[0]) {
        // Of the ratio, not of the two medians: the turns are compared one by one.
        let change = ratio.median - 1.0;
        let _ = write!(out, "{:+.1} ns ({:+.1} %)", base * change, change * 100.0);
    }
    if let Some(change) = instructions(row) {
        let _ = write!(out, ", {change:+.1} instructions");
    }
    out
}

/// A table for a README: paths by tasks, `first / second (ratio)` in ns, of equal weights without groups.
pub fn markdown(results: &Results) -> String {
    let mut out = String::from("| path |");
    TASKS.iter().for_each(|tasks| out.push_str(&format!(" {tasks} |")));
    out.push_str("\n| --- |");
    out.push_str(&" ---: |".repeat(TASKS.len()));
    out.push('\n');
    for path in Path::ALL {
        let _ = write!(out, "| {} |", path.name());
        for tasks in TASKS {
            let situation = Situation { tasks, levels: 0, mix: Mix::Equal };
            let name = Row { path, situation }.to_string();
            let row = results.rows.iter().find(|row| row.row == name);
            let _ = write!(out, " {} |", row.map_or_else(|| "-".to_string(), cell));
        }
        out.push('\n');
    }
    let setting = &results.setting;
    let _ = writeln!(
        out,
        "\nns per operation: {}. {}; {}",
        setting.sides.join(" / "),
        setting.machine,
        setting.compiler
    );
    out
}

fn cell(row: &Measured) -> String {
    let ns: Vec<String> = row.ns.iter().map(|ns| number(*ns, 0)).collect();
    match row.ratios.first().copied().flatten() {
        Some(ratio) => format!("{} ({:.2})", ns.join(" / "), ratio.median),
        None => "-".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(first: f64, second: f64) -> Measured {
        Measured::new("pick/2/0/equal".to_string(), vec![vec![first; 9], vec![second; 9]], 9)
    }

    #[test]
    fn words_follow_the_interval() {
        assert_eq!(word(&row(9.0, 10.0), 0, SLOWER), Word::Faster);
        assert_eq!(word(&row(10.4, 10.0), 0, SLOWER), Word::Same);
        assert_eq!(word(&row(10.4, 10.0), 0, 1.0), Word::Slower);
        assert_eq!(word(&Measured { same: vec![false], ..row(9.0, 10.0) }, 0, 1.0), Word::Differs);
        assert_eq!(
            word(&Measured::new(String::new(), vec![vec![], vec![]], 0), 0, 1.0),
            Word::Never
        );
    }

    #[test]
    fn what_is_gained_is_told_apart_from_what_it_costs() {
        let gain = Measured { instructions: vec![Some(90.0), Some(100.0)], ..row(9.0, 10.0) };
        let cost = Measured { instructions: vec![Some(102.0), Some(100.0)], ..row(10.5, 10.0) };
        let text = gains_and_costs(&[gain, cost]);
        assert!(
            text.contains("gains at pick/2/0/equal") && text.contains("-10.0 instructions"),
            "{text}"
        );
        assert!(text.contains("elsewhere (1 rows): +5.00 % time, +2.00 instructions"), "{text}");
        assert!(text.contains("costs at"), "{text}");
    }
}
