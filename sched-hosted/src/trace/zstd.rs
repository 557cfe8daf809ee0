// SPDX-License-Identifier: GPL-2.0-only
//! Unpacks `.zst`: one frame after another, skippable ones left out, in bounded memory.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Error, ErrorKind, Read};

/// So much is unpacked at once, in bytes.
const AT_ONCE: usize = 256 << 10;

/// The unpacked bytes of all frames of `R`.
pub struct ZstdReader<R> {
    input: R,
    decoder: Box<FrameDecoder>,
    in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    /// From the beginning of a file.
    pub fn new(input: R) -> Self {
        ZstdReader { input, decoder: Box::new(FrameDecoder::new()), in_frame: false }
    }

    /// Opens the next frame; false at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.input) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.input).take(u64::from(length));
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }
}

fn damaged(error: &FrameDecoderError) -> Error {
    Error::new(ErrorKind::InvalidData, error.to_string())
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame && !self.next_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(AT_ONCE);
                self.decoder
                    .decode_blocks(&mut self.input, some)
                    .map_err(|error| damaged(&error))?;
            }
            let got = self.decoder.read(buffer)?;
            if got > 0 {
                return Ok(got);
            }
            self.in_frame = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A skippable frame, then twice a frame with `hello\n` as it is.
    const PACKED: &[u8] =
        b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc\x28\xb5\x2f\xfd\x20\x06\x31\x00\x00hello\n\
        \x28\xb5\x2f\xfd\x20\x06\x31\x00\x00hello\n";

    #[test]
    fn all_frames_are_unpacked() {
        let mut text = String::new();
        ZstdReader::new(PACKED).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\nhello\n");
    }

    #[test]
    fn cut_or_damaged_data_are_an_error_after_what_was_good() {
        for end in 12..PACKED.len() {
            let mut bytes = Vec::new();
            let result = ZstdReader::new(&PACKED[..end]).read_to_end(&mut bytes);
            assert!(result.is_err() || end == 26, "{end}");
            assert!(b"hello\nhello\n".starts_with(&bytes[..]), "{bytes:?}");
        }
        let mut bytes = PACKED.to_vec();
        bytes[30] ^= 0xff;
        assert!(ZstdReader::new(&bytes[..]).read_to_end(&mut Vec::new()).is_err());
    }
}
