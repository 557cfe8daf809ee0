// SPDX-License-Identifier: GPL-2.0-only
//! Opens a recording: plain text, `.xz`, `.gz` or `.zst`, told apart by their first bytes, whatever the name. Others
//! are named, with the command that turns them into text.

use super::zstd::ZstdReader;
use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};

/// Unpacking `.xz` takes no more memory than this, in KiB; `xz -9` needs 65 MiB.
const XZ_KIB_MAX: u32 = 256 << 10;

/// As many bytes decide what a file is.
const MAGIC_MAX: usize = 10;

/// Opens `path` (`-` is standard input) and unpacks it on the way if need be.
///
/// # Errors
/// It cannot be read, or it is in a form that is not read here.
pub fn open(path: &str) -> Result<Box<dyn Read>> {
    if path == "-" {
        return unpack(path, io::stdin().lock());
    }
    let file = File::open(path).map_err(|error| Error::read(path, error))?;
    unpack(path, file)
}

/// Looks at the first bytes of `input` and unpacks it if need be; `name` is what messages call it.
///
/// # Errors
/// As [`open`].
pub fn unpack<'a>(name: &str, mut input: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    let mut magic = Vec::with_capacity(MAGIC_MAX);
    let mut first = (&mut input).take(MAGIC_MAX as u64);
    first.read_to_end(&mut magic).map_err(|error| Error::read(name, error))?;
    let form = Form::of(&magic);
    let input = Cursor::new(magic).chain(input);
    match form {
        Form::Text => Ok(Box::new(input)),
        Form::Xz => Ok(Box::new(XzReader::new_mem_limit(BufReader::new(input), true, XZ_KIB_MAX))),
        Form::Gzip => Ok(Box::new(MultiGzDecoder::new(BufReader::new(input)))),
        Form::Zstd => Ok(Box::new(ZstdReader::new(BufReader::new(input)))),
        Form::Other(what, command) => Err(Error::bad_input(
            name,
            1,
            1,
            format!("this is {what}, not ftrace text"),
            format!(
                "give it as text: `{}`",
                command.replace("FILE", &name.escape_debug().to_string())
            ),
        )),
    }
}

/// In what form a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Xz,
    Gzip,
    Zstd,
    /// What it is, and the command that makes text of it.
    Other(&'static str, &'static str),
}

impl Form {
    fn of(magic: &[u8]) -> Form {
        let others: [(&[u8], Form); 3] = [
            (b"BZh", Form::Other("bzip2 data", "bzip2 -dc FILE | fairlab ... -")),
            (
                b"\x17\x08\x44tracing",
                Form::Other(
                    "a trace.dat of trace-cmd",
                    "trace-cmd report -N -i FILE | fairlab ... -",
                ),
            ),
            (
                b"PERFILE2",
                Form::Other("a perf.data of perf", "perf script -i FILE | fairlab ... -"),
            ),
        ];
        if magic.starts_with(b"\xfd7zXZ\0") {
            return Form::Xz;
        }
        if magic.starts_with(b"\x1f\x8b") {
            return Form::Gzip;
        }
        if magic.starts_with(b"\x28\xb5\x2f\xfd") {
            return Form::Zstd;
        }
        let found = others.iter().find(|(first, _)| magic.starts_with(first));
        found.map_or(Form::Text, |(_, form)| *form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn gzip_is_unpacked_and_text_is_left_alone() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"# tracer: nop\nhello\n").unwrap();
        for bytes in [packed.finish().unwrap(), b"# tracer: nop\nhello\n".to_vec()] {
            let mut text = String::new();
            unpack("x", &bytes[..]).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "# tracer: nop\nhello\n");
        }
    }

    #[test]
    fn xz_is_unpacked() {
        // printf 'hello\n' | xz
        const PACKED: [u8; 64] =
            *b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46\x02\0\x21\x01\x16\0\0\0\x74\x2f\xe5\xa3\
            \x01\0\x05hello\n\0\0\0\xa5\x60\x97\xf1\x94\xf6\xfd\xe0\0\x01\x1e\x06\xc1\x2f\xa4\x1d\
            \x1f\xb6\xf3\x7d\x01\0\0\0\0\x04YZ";
        let mut text = String::new();
        unpack("x", &PACKED[..]).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
    }

    #[test]
    fn what_is_not_read_is_named_with_the_command() {
        let error = unpack("a.bz2", &b"BZh91AY&SYxxxx"[..]).err().unwrap();
        let text = error.to_string();
        assert!(text.starts_with("a.bz2:1:1: this is bzip2 data"), "{text}");
        assert!(text.contains("bzip2 -dc a.bz2 | fairlab ... -"), "{text}");
    }

    #[test]
    fn an_empty_file_is_text() {
        let mut text = String::new();
        unpack("x", &b""[..]).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.is_empty());
    }
}
