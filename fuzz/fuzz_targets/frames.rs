//! Any bytes as frames of the doorkeeper's protocol, in pieces of any length. Nothing may panic, and what is a message
//! is written back as the same bytes.

#![no_main]

use doorkeeper::protocol::{Decoder, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((piece, bytes)) = bytes.split_first() else { return };
    let (mut decoder, mut written) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(usize::from(*piece) + 1) {
        decoder.feed(piece);
        loop {
            match decoder.take() {
                Ok(Some(message)) => written.extend(encode(&message)),
                Ok(None) => break,
                Err(_) => return assert!(bytes.starts_with(&written)),
            }
        }
    }
    assert!(bytes.starts_with(&written));
});
