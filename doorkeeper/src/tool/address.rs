//! Address of the tool gateway: an `http` URL, and the addresses that its host resolves to.
//!
//! Names are looked up here and not by the C library, which, in a static program, would load parts of the image's.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The port of `http`.
const HTTP: u16 = 80;
/// The port of DNS.
const DNS: u16 = 53;
/// Timeout of a name server, and the number of times that it is asked.
const PATIENCE: Duration = Duration::from_secs(3);
const TRIES: u16 = 2;
/// Largest answer of a name server, in bytes.
const MOST_ANSWER: usize = 4096;

/// An address of MCP over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The host, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The path and query.
    pub(super) path: String,
}

impl Address {
    /// The address that a URL names.
    pub(super) fn of(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("http://")?;
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, HTTP),
            Some((host, port)) => (host, port.strip_prefix(':')?.parse().ok()?),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, port.parse().ok()?),
                None => (authority, HTTP),
            },
        };
        let is_plain = |text: &str| text.chars().all(|character| character.is_ascii_graphic() && character != '@');
        let is_right = !host.is_empty() && is_plain(host) && is_plain(&path);
        is_right.then(|| Self { host: host.to_owned(), port, path })
    }

    /// The host and port, as the header `Host` has them.
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == HTTP { host } else { format!("{host}:{}", self.port) }
    }

    /// Resolves the host: from `/etc/hosts`, then by the sandbox's name servers.
    pub(super) fn resolve(&self) -> io::Result<SocketAddr> {
        let address = match self.host.parse() {
            Ok(address) => address,
            Err(_) => match from_hosts(&fs::read_to_string("/etc/hosts").unwrap_or_default(), &self.host) {
                Some(address) => address,
                None => look_up(&self.host)?,
            },
        };
        Ok(SocketAddr::new(address, self.port))
    }
}

/// The address of a name in `/etc/hosts`.
fn from_hosts(hosts: &str, name: &str) -> Option<IpAddr> {
    hosts.lines().find_map(|line| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|word| word.eq_ignore_ascii_case(name)).then_some(address)
    })
}

/// Looks a name up at the name servers of the sandbox.
fn look_up(name: &str) -> io::Result<IpAddr> {
    let config = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let servers =
        config.lines().filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok());
    let mut problem = io::Error::new(io::ErrorKind::NotFound, "/etc/resolv.conf names no name server");
    for server in servers {
        for id in 1..=TRIES {
            match ask(SocketAddr::new(server, DNS), name, id) {
                Ok(Some(address)) => return Ok(address.into()),
                Ok(None) => return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such name")),
                Err(error) => problem = error,
            }
        }
    }
    Err(problem)
}

/// Asks a name server for the address of a name.
fn ask(server: SocketAddr, name: &str, id: u16) -> io::Result<Option<Ipv4Addr>> {
    let question = question(name, id).ok_or(io::ErrorKind::InvalidInput)?;
    let here: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(here)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(&question)?;
    let mut answer = [0; MOST_ANSWER];
    let length = socket.recv(&mut answer)?;
    let answer = answer.get(..length).unwrap_or_default();
    if answer.get(..2) != Some(&id.to_be_bytes()) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the name server answers something else"));
    }
    Ok(first_address(answer, question.len()))
}

/// A question for the IPv4 address of a name.
fn question(name: &str, id: u16) -> Option<Vec<u8>> {
    let [high, low] = id.to_be_bytes();
    let mut message = vec![high, low, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.trim_end_matches('.').split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..64).contains(length))?;
        message.push(length);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    Some(message)
}

/// The first IPv4 address of an answer, whose records begin behind the question.
fn first_address(answer: &[u8], records: usize) -> Option<Ipv4Addr> {
    let number = |at: usize| Some(usize::from(u16::from_be_bytes(answer.get(at..at + 2)?.try_into().ok()?)));
    let mut at = records;
    for _ in 0..number(6)? {
        at = behind_name(answer, at)?;
        let (kind, length) = (number(at)?, number(at + 8)?);
        let data = answer.get(at + 10..at + 10 + length)?;
        if let (1, Ok(octets)) = (kind, <[u8; 4]>::try_from(data)) {
            return Some(octets.into());
        }
        at += 10 + length;
    }
    None
}

/// The place behind a name, which may end in a pointer to another.
fn behind_name(answer: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match usize::from(*answer.get(at)?) {
            0 => return Some(at + 1),
            pointer if pointer >= 0xc0 => return Some(at + 2),
            length => at += 1 + length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, first_address, from_hosts, question};

    #[test]
    fn urls_name_a_host_a_port_and_a_path() {
        let parts = |url| Address::of(url).map(|address| (address.authority(), address.port, address.path));
        let shown = |authority: &str, port, path: &str| Some((authority.to_owned(), port, path.to_owned()));
        assert_eq!(parts("http://tools.services.internal/mcp"), shown("tools.services.internal", 80, "/mcp"));
        assert_eq!(parts("http://127.0.0.1:8000"), shown("127.0.0.1:8000", 8000, "/"));
        assert_eq!(parts("http://[::1]:81?a=b#c"), shown("[::1]:81", 81, "/?a=b"));
        for wrong in ["https://x/mcp", "x", "http://", "http://a b/", "http://u@x/", "http://x:y/", "http://x/\r\n"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_found_in_the_hosts_file() {
        let hosts =
            "127.0.0.1\tlocalhost sandbox\n# 127.0.0.2 tools\n127.0.0.3 Tools.services.internal tools # ours\nx y\n";
        assert_eq!(from_hosts(hosts, "tools").map(|address| address.to_string()).as_deref(), Some("127.0.0.3"));
        assert!(from_hosts(hosts, "tools.services.internal").is_some() && from_hosts(hosts, "ours").is_none());
    }

    #[test]
    fn the_first_address_of_an_answer_is_found() {
        let question = question("a.b", 7).expect("a question");
        assert_eq!(question, b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x01b\x00\x00\x01\x00\x01");
        let mut answer = question.clone();
        answer[7] = 2;
        answer.extend(b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x00\x00\x03\x01c\x00");
        answer.extend(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x7f\x00\x00\x09");
        let address = |answer: &[u8]| first_address(answer, question.len()).map(|address| address.to_string());
        assert_eq!(address(&answer).as_deref(), Some("127.0.0.9"));
        for length in 0..answer.len() {
            assert_eq!(address(&answer[..length]), None, "cut after {length}");
        }
    }
}
