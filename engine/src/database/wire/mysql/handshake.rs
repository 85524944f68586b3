//! The beginning of a connection to MySQL, where both sides say what they can. We take out what could not be followed.

use super::super::Unfollowable;

/// Encryption, compression and forms of answers that we do not read: `COMPRESS`, `SSL`, `DEPRECATE_EOF`,
/// `OPTIONAL_RESULTSET_METADATA`, `ZSTD_COMPRESSION_ALGORITHM`, `QUERY_ATTRIBUTES`, and MariaDB's progress reports.
const REFUSED: u32 = 0x20 | 0x800 | 1 << 24 | 1 << 25 | 1 << 26 | 1 << 27 | 1 << 29;
const TLS: u32 = 0x800;
const CONNECT_WITH_DATABASE: u32 = 0x8;
const PROTOCOL_41: u32 = 0x200;
const SECURE_CONNECTION: u32 = 1 << 15;
const LENGTH_ENCODED_PASSWORD: u32 = 1 << 21;
/// The longest first packet.
const LONGEST: usize = 1 << 16;

/// A packet that is held back until it is complete.
#[derive(Debug, Default)]
pub(super) struct FirstPacket {
    kept: Vec<u8>,
    is_over: bool,
}

impl FirstPacket {
    /// Takes bytes; the packet with its header, once it is complete.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, Unfollowable> {
        while !self.is_over {
            let wanted = match self.kept.get(..4) {
                None => 4,
                Some(header) => 4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize,
            };
            if wanted > LONGEST {
                return Err(Unfollowable::new("a first packet that is not MySQL's"));
            }
            if self.kept.len() >= 4 && self.kept.len() >= wanted {
                self.is_over = true;
                return Ok(Some(std::mem::take(&mut self.kept)));
            }
            let missing = (wanted - self.kept.len()).min(bytes.len());
            if missing == 0 {
                return Ok(None);
            }
            self.kept.extend_from_slice(&bytes[..missing]);
            *bytes = &bytes[missing..];
        }
        Ok(None)
    }

    /// Returns true if it has passed.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// The server's greeting.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: u32,
    pub(super) mariadb: bool,
}

impl Greeting {
    /// Reads the server's first packet, and takes out what is refused.
    pub(super) fn weaken(packet: &mut [u8]) -> Result<Self, Unfollowable> {
        let broken = || Unfollowable::new("a greeting that is not MySQL's");
        let body = packet.get_mut(4..).unwrap_or_default();
        match body.first() {
            // An error, such as too many connections: the end follows.
            Some(0xff) => return Ok(Self::default()),
            Some(0x0a) => {}
            _ => return Err(broken()),
        }
        let end = memchr::memchr(0, body).ok_or_else(broken)?;
        let version = String::from_utf8_lossy(&body[1..end]).into_owned();
        let low = end + 1 + 4 + 8 + 1;
        if body.len() < low + 18 {
            return Err(broken());
        }
        let [one, two, three, four] = REFUSED.to_le_bytes();
        body[low] &= !one;
        body[low + 1] &= !two;
        body[low + 5] &= !three;
        body[low + 6] &= !four;
        // MariaDB's own abilities.
        body[low + 14..low + 18].fill(0);
        Ok(Self { version: number(&version), mariadb: version.contains("MariaDB") })
    }
}

/// `9.1.0` as 90100; MariaDB may say `5.5.5-` before its own.
fn number(version: &str) -> u32 {
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let parts = version.split(|letter: char| !letter.is_ascii_digit()).take(3);
    parts.fold(0_u32, |number, part| number * 100 + part.parse::<u32>().unwrap_or(0).min(99))
}

/// The client's login.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) database: Option<String>,
}

impl Login {
    /// Reads the client's first packet, and takes out what is refused: some clients claim abilities that the server did
    /// not offer.
    pub(super) fn weaken(packet: &mut [u8]) -> Result<Self, Unfollowable> {
        let broken = || Unfollowable::new("a login that is not MySQL's");
        let body = packet.get_mut(4..).unwrap_or_default();
        let abilities = u32::from_le_bytes(*body.first_chunk::<4>().ok_or_else(broken)?);
        if abilities & TLS != 0 {
            return Err(Unfollowable::new("it asks for TLS, which was not offered"));
        }
        if abilities & PROTOCOL_41 == 0 || body.len() < 32 {
            return Err(broken());
        }
        body[..4].copy_from_slice(&(abilities & !REFUSED).to_le_bytes());
        body[28..32].fill(0);
        let mut rest = &body[32..];
        text(&mut rest);
        if abilities & LENGTH_ENCODED_PASSWORD != 0 {
            let length = length_encoded(&mut rest).ok_or_else(broken)?;
            rest = rest.get(usize::try_from(length).unwrap_or(usize::MAX)..).ok_or_else(broken)?;
        } else if abilities & SECURE_CONNECTION != 0 {
            let length = usize::from(*rest.first().ok_or_else(broken)?);
            rest = rest.get(1 + length..).ok_or_else(broken)?;
        } else {
            text(&mut rest);
        }
        let database =
            (abilities & CONNECT_WITH_DATABASE != 0).then(|| text(&mut rest)).filter(|name| !name.is_empty());
        Ok(Self { database })
    }
}

/// The database in a request to log in again.
pub(super) fn database_of_change(body: &[u8]) -> Option<String> {
    let mut rest = body;
    text(&mut rest);
    let length = usize::from(*rest.first()?);
    rest = rest.get(1 + length..)?;
    Some(text(&mut rest)).filter(|name| !name.is_empty())
}

/// A text that ends with a zero.
fn text(rest: &mut &[u8]) -> String {
    let end = memchr::memchr(0, rest).unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = rest.get(end + 1..).unwrap_or_default();
    text
}

/// A number of one, two, three or eight bytes.
pub(super) fn length_encoded(rest: &mut &[u8]) -> Option<u64> {
    let (first, more) = rest.split_first()?;
    let length = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
        small => {
            *rest = more;
            return Some(u64::from(*small));
        }
    };
    let bytes = more.get(..length)?;
    *rest = &more[length..];
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::{FirstPacket, number};

    #[test]
    fn versions_are_numbers_as_comments_have_them() {
        assert_eq!(number("9.1.0-commercial"), 90_100);
        assert_eq!(number("5.5.5-10.11.6-MariaDB-0+deb12u1"), 101_106);
        assert_eq!(number("x"), 0);
    }

    #[test]
    fn a_first_packet_is_held_back_until_it_is_complete() {
        let mut first = FirstPacket::default();
        assert_eq!(first.take(&mut [2, 0].as_slice()), Ok(None));
        let mut rest: &[u8] = &[0, 1, 7, 8, 9];
        assert_eq!(first.take(&mut rest), Ok(Some(vec![2, 0, 0, 1, 7, 8])));
        assert_eq!((first.is_over(), rest), (true, [9].as_slice()));
        assert!(FirstPacket::default().take(&mut [0x16, 3, 1, 2].as_slice()).is_err());
    }
}
