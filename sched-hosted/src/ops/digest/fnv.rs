// SPDX-License-Identifier: GPL-2.0-only
//! 64-bit FNV-1a, fast enough to hash a state after every operation.
//!
//! A step of FNV-1a is `h = (h ^ byte) * PRIME`, and each waits for the one before. But the
//! exclusive or touches only the lowest eight bits, and these depend on nothing but themselves; so
//! for a fixed text of n bytes
//!
//! ```text
//! h' = h * PRIME^n + T[h & 0xff]
//! ```
//!
//! with a table `T` of 256 numbers that belongs to the text. Field names are most of a state's
//! text, and there are only some dozens of them: each gets its table when it is first met.

use super::Sink;

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn step(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// A field's name, prepared.
#[derive(Debug)]
struct Word {
    name: &'static str,
    /// PRIME to the power of the length.
    power: u64,
    table: Box<[u64; 256]>,
    /// The index of the word that followed this one last time.
    next: usize,
}

impl Word {
    fn new(name: &'static str) -> Self {
        let text = [b" ", name.as_bytes(), b"="].concat();
        let power = PRIME.wrapping_pow(text.len() as u32);
        let mut table = Box::new([0; 256]);
        for (low, entry) in (0u64..).zip(table.iter_mut()) {
            *entry = step(low, &text).wrapping_sub(low.wrapping_mul(power));
        }
        Word { name, power, table, next: 0 }
    }

    /// Whether it is `name`, by address: the same text elsewhere in memory gets a word of its own.
    fn is(&self, name: &'static str) -> bool {
        std::ptr::eq(self.name, name)
    }
}

/// The hash of the bytes so far.
#[derive(Debug, Default)]
pub(super) struct Fnv {
    hash: u64,
    words: Vec<Word>,
    /// The index of the last word.
    last: usize,
}

impl Fnv {
    /// Begins a new text.
    pub fn start(&mut self) {
        self.hash = BASIS;
    }

    /// The hash of what came since.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The index of `name`. Fields come in the same order again and again, so the guess is nearly
    /// always right.
    fn word(&mut self, name: &'static str) -> usize {
        let guess = self.words.get(self.last).map_or(0, |last| last.next);
        if self.words.get(guess).is_some_and(|word| word.is(name)) {
            return guess;
        }
        let found = self.words.iter().position(|word| word.is(name)).unwrap_or_else(|| {
            self.words.push(Word::new(name));
            self.words.len() - 1
        });
        self.words[self.last].next = found;
        found
    }
}

impl Sink for Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        self.hash = step(self.hash, bytes);
    }

    fn field_name(&mut self, name: &'static str) {
        let at = self.word(name);
        let word = &self.words[at];
        let low = (self.hash & 0xff) as usize;
        self.hash = self.hash.wrapping_mul(word.power).wrapping_add(word.table[low]);
        self.last = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        // From the FNV authors' test vectors.
        assert_eq!(step(BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(step(BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(step(BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_prepared_name_hashes_like_its_bytes() {
        let names = ["vruntime", "x", "prev_sum_exec_runtime", "removed.load_avg"];
        let mut fnv = Fnv::default();
        fnv.start();
        let mut plain = Vec::new();
        for round in 0..400_usize {
            // Not always in the same order, so that wrong guesses happen.
            let name = names[(round * round / 3) % names.len()];
            let value = (round as u64).wrapping_mul(PRIME).to_string();
            fnv.field_name(name);
            fnv.bytes(value.as_bytes());
            plain.field_name(name);
            plain.bytes(value.as_bytes());
            assert_eq!(fnv.hash(), step(BASIS, &plain), "round {round}");
        }
    }
}
