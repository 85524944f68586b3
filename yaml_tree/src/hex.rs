//! Bytes as hex digits.

/// The digits, by their value.
const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Bytes as lower-case hex digits, two each.
#[must_use]
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|value| DIGITS[usize::from(value)]).collect()
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex([0, 1, 0x7f, 0xa0, 0xff]), "00017fa0ff");
        assert_eq!(hex([]), "");
    }
}
