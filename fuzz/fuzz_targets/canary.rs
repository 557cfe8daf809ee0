// SPDX-License-Identifier: GPL-2.0-only
//! The fuzz target `canary`: what it does stands in the library.

#![no_main]
// The macro's entry point for libFuzzer has a C name, and no documentation.
#![allow(unsafe_code, missing_docs)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fairlab_fuzz::canary(bytes));
