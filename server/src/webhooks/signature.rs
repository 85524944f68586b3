//! By what a receiver knows that a message is ours.

use hmac::{Hmac, KeyInit as _, Mac as _};
use scenario::hex;
use sha2::Sha256;

/// The header with the signature.
pub(super) const HEADER: &str = "x-touchstone-signature";

/// The signature of a message: `t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body" with the secret, in hex>`.
pub(crate) fn sign(secret: &str, seconds: i64, body: &str) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(format!("{seconds}.{body}").as_bytes());
    let hex = hex(mac.finalize().into_bytes());
    format!("t={seconds},v1={hex}")
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn a_signature_is_what_others_compute() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret
        let expected = "t=1700000000,v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686";
        assert_eq!(sign("secret", 1_700_000_000, r#"{"a":1}"#), expected);
    }
}
