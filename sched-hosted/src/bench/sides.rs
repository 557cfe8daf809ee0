// SPDX-License-Identifier: GPL-2.0-only
//! Which sides take turns, and their machines.

use super::cycle::Player;
use super::here::Here;
use super::kernel;
use super::measure::{Effort, Measured, measure};
use super::rows::{Row, Situation};
use super::side::Side;
use super::station::Station;
use crate::error::Result;
use crate::ops::arena::Arena;
use crate::ops::driver::{Driver, Options};
use crate::oracle::Kernel;
use crate::oracle::class::OracleClass;
use sched_core::patches::Patches;

/// How far apart tasks lie where no kernel says how large its own are, bytes.
const TASK_SIZE: usize = 2048;

/// A side by what it is.
#[derive(Clone, Copy)]
pub enum Which<'k> {
    /// The class here, with these patches.
    Here(Patches),
    /// The kernel's own.
    Kernel(&'k Kernel),
}

/// Makes a machine for each of `which`, brings it into `situation`, and hands their players to `f`.
///
/// # Errors
/// A kernel's oracle cannot be loaded.
pub fn with_players<R>(
    which: &[Which<'_>],
    situation: Situation,
    f: impl FnOnce(&mut [Player<'_>]) -> R,
) -> Result<R> {
    let station = Station::new(situation);
    let mut oracles = Vec::new();
    for which in which {
        oracles.push(match which {
            Which::Kernel(kernel) => Some(kernel.load()?),
            Which::Here(_) => None,
        });
    }
    let task_size = oracles.iter().flatten().map(|oracle| oracle.task_size()).next();
    let arenas: Vec<Arena<'_, ()>> = which.iter().map(|_| Arena::new()).collect();
    let mut players = Vec::new();
    for ((which, oracle), arena) in which.iter().zip(oracles).zip(&arenas) {
        let (header, names) = (&station.header, &station.names);
        let side: Box<dyn Side + '_> = match (which, oracle) {
            (Which::Kernel(_), Some(oracle)) => {
                Box::new(kernel::Kernel::new(OracleClass::new(oracle, header, names)?))
            }
            (Which::Kernel(_), None) => continue,
            (Which::Here(patches), _) => {
                let options = Options { patches: *patches, ..Options::default() };
                let driver = Driver::new(arena, header, names, &options, ())?;
                Box::new(Here::new(arena, driver, task_size.unwrap_or(TASK_SIZE)))
            }
        };
        players.push(Player::new(side, &station));
    }
    Ok(f(&mut players))
}

/// Measures `rows`; `done` is told each.
///
/// # Errors
/// Those of [`with_players`] and of `done`.
pub fn measure_rows(
    which: &[Which<'_>],
    rows: &[Row],
    effort: Effort,
    done: &mut dyn FnMut(Measured) -> Result<()>,
) -> Result<()> {
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let n = rest.iter().take_while(|row| row.situation == first.situation).count();
        let (now, later) = rest.split_at(n);
        rest = later;
        with_players(which, first.situation, |players| {
            now.iter().try_for_each(|&row| done(measure(row, players, effort)))
        })??;
    }
    Ok(())
}
