// SPDX-License-Identifier: GPL-2.0-only
//! A picture of ns against tasks: a panel a path, a line a side, both axes logarithmic.

use super::measure::Measured;
use super::rows::{Mix, Path, Row, Situation, TASKS};
use super::setting::Results;
use crate::error::{Error, Result};
use plotters::coord::Shift;
use plotters::prelude::*;

/// Panels beside each other.
const COLUMNS: usize = 4;
const PANEL: (u32, u32) = (330, 260);
/// Room for the line below the panels.
const LEGEND: u32 = 60;
/// Told apart by eyes that see few colours, too.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(130, 130, 130),
    RGBColor(86, 180, 233),
];

/// A side's line in a panel: tasks and ns.
type Line = Vec<(f64, f64)>;

/// A panel: its title, and each side's line.
type Panel = (String, Vec<Line>);

/// The picture of `all` results that have rows without groups and with equal weights, as SVG. The sides of the first
/// file come first.
///
/// # Errors
/// There is no such row, or the picture cannot be drawn.
pub fn svg(all: &[Results]) -> Result<String> {
    let sides: Vec<&str> =
        all.iter().flat_map(|results| &results.setting.sides).map(String::as_str).collect();
    let panels: Vec<Panel> = Path::ALL
        .into_iter()
        .map(|path| {
            let lines = all.iter().flat_map(|results| {
                (0..results.setting.sides.len()).map(move |side| line(&results.rows, path, side))
            });
            (path.name().to_string(), lines.collect::<Vec<_>>())
        })
        .filter(|(_, lines)| lines.iter().any(|line| !line.is_empty()))
        .collect();
    if panels.is_empty() {
        return Err(Error::bad_argument(
            "there is nothing to draw",
            "the picture is of rows PATH/TASKS/0/equal: use a --row that lets some through",
        ));
    }
    let mut text = String::new();
    draw(&mut text, &panels, &sides).map_err(|what| {
        Error::not_possible(format!("the picture cannot be drawn ({what})"), "use --json instead")
    })?;
    Ok(text)
}

fn line(rows: &[Measured], path: Path, side: usize) -> Line {
    let at = |tasks: u32| {
        let situation = Situation { tasks, levels: 0, mix: Mix::Equal };
        let name = Row { path, situation }.to_string();
        let row = rows.iter().find(|row| row.row == name)?;
        Some((f64::from(tasks), row.ns.get(side).copied().flatten()?))
    };
    TASKS.into_iter().filter_map(at).filter(|(_, ns)| *ns > 0.0).collect()
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

fn draw(text: &mut String, panels: &[Panel], sides: &[&str]) -> Drawn {
    let columns = COLUMNS.min(panels.len());
    let rows = panels.len().div_ceil(columns);
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32 + LEGEND);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (top, bottom) = root.split_vertically(size.1 - LEGEND);
    for ((title, lines), area) in panels.iter().zip(top.split_evenly((rows, columns))) {
        panel(&area, title, lines)?;
    }
    legend(&bottom, sides)?;
    root.present()?;
    Ok(())
}

fn panel(area: &DrawingArea<SVGBackend<'_>, Shift>, title: &str, lines: &[Line]) -> Drawn {
    let all = || lines.iter().flatten().map(|point| point.1);
    // Room for a label or two, also where nothing grows.
    let low = all().fold(f64::INFINITY, f64::min) / 2.0;
    let high = all().fold(0.0, f64::max) * 2.0;
    let tasks = f64::from(TASKS[0])..f64::from(TASKS[TASKS.len() - 1]) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{title}, ns"), ("sans-serif", 16))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(26)
        .y_label_area_size(46)
        .build_cartesian_2d(tasks.log_scale(), (low..high).log_scale().base(2.0))?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels(5)
        .y_labels(6)
        .label_style(("sans-serif", 12))
        .x_label_formatter(&|tasks| format!("{tasks:.0}"))
        .y_label_formatter(&|ns| if *ns < 10.0 { format!("{ns:.1}") } else { format!("{ns:.0}") })
        .draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(line.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
    }
    Ok(())
}

fn legend(area: &DrawingArea<SVGBackend<'_>, Shift>, sides: &[&str]) -> Drawn {
    let mut x = 20;
    for (side, colour) in sides.iter().zip(COLOURS.iter().cycle()) {
        area.draw(&PathElement::new(vec![(x, 20), (x + 24, 20)], colour.stroke_width(3)))?;
        area.draw(&Text::new((*side).to_string(), (x + 30, 13), ("sans-serif", 14)))?;
        x += 50 + 8 * side.len() as i32;
    }
    let note = "ns per operation against runnable tasks on the CPU; equal weights, no groups";
    area.draw(&Text::new(note, (20, 36), ("sans-serif", 13)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::setting::Setting;

    #[test]
    fn a_side_is_a_line_of_its_own() {
        let setting = Setting {
            fairlab: String::new(),
            machine: String::new(),
            compiler: String::new(),
            kernel: None,
            sides: vec!["one".to_string(), "two".to_string()],
            alternations: 1,
            notes: Vec::new(),
        };
        let row = |name: &str| Measured::new(name.to_string(), vec![vec![10.0], vec![20.0]], 1);
        let rows = vec![row("pick/2/0/equal"), row("pick/100/0/equal"), row("pick/100/1/equal")];
        let mut results = Results { setting, rows };
        let text = svg(std::slice::from_ref(&results)).unwrap();
        assert_eq!(text.matches("<circle").count(), 4);
        assert!(text.contains("two") && text.contains("pick, ns") && !text.contains("tick, ns"));
        results.rows.truncate(0);
        assert!(svg(&[results]).is_err());
    }
}
