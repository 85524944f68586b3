//! A request over HTTP/1.1, and its answer: with a length, in chunks, or until the connection ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::address::Address;

/// Timeout for connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// Timeout for a gateway that sends nothing. Calls have limits of their own, which are shorter.
const SILENCE: Duration = Duration::from_secs(600);
/// Largest head and body of an answer, in bytes.
const MOST_HEAD: u64 = 256 * 1024;
const MOST_BODY: u64 = 256 * 1024 * 1024;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case, and values.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The value of a header, whose name is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

/// A request.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) headers: &'a [(&'a str, String)],
    pub(super) body: &'a [u8],
    /// Tells if an answer that is a stream of events has gone far enough: servers may keep it open.
    pub(super) is_enough: &'a dyn Fn(&Answer) -> bool,
}

/// Sends a request, and reads its answer.
pub(super) fn send(address: &Address, request: &Request<'_>) -> io::Result<Answer> {
    let Request { method, headers, body, is_enough } = request;
    let mut connection = TcpStream::connect_timeout(&address.resolve()?, CONNECT)?;
    connection.set_read_timeout(Some(SILENCE))?;
    connection.set_write_timeout(Some(SILENCE))?;
    let mut head = format!("{method} {} HTTP/1.1\r\nHost: {}\r\n", address.path, address.authority());
    for (name, value) in *headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
    connection.write_all(&[head.as_bytes(), body].concat())?;
    read(BufReader::new(connection), is_enough)
}

/// Reads an answer. Answers that only say that more is to come are passed over.
fn read(mut from: impl BufRead, is_enough: &dyn Fn(&Answer) -> bool) -> io::Result<Answer> {
    loop {
        let (status, headers) = read_head(&mut from.by_ref().take(MOST_HEAD))?;
        if (100..200).contains(&status) {
            continue;
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        read_body(&mut from, &mut answer, is_enough)?;
        return Ok(answer);
    }
}

fn read_head(from: &mut impl BufRead) -> io::Result<(u16, Vec<(String, String)>)> {
    let first = read_line(from)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| invalid("the answer is no HTTP/1"))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        if line.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header of the answer has no colon"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_body(from: &mut impl BufRead, answer: &mut Answer, is_enough: &dyn Fn(&Answer) -> bool) -> io::Result<()> {
    let is_chunked =
        answer.header("transfer-encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked"));
    let length = answer.header("content-length").map(str::parse);
    match length {
        _ if answer.status == 204 || answer.status == 304 => Ok(()),
        _ if is_chunked => read_chunks(from, answer, is_enough),
        Some(Ok(length)) => read_exactly(from, length, answer),
        Some(Err(_)) => Err(invalid("the length of the answer is no number")),
        None => read_to_end(from, answer, is_enough),
    }
}

fn read_chunks(from: &mut impl BufRead, answer: &mut Answer, is_enough: &dyn Fn(&Answer) -> bool) -> io::Result<()> {
    loop {
        let line = read_line(&mut from.take(MOST_HEAD))?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(|_| invalid("the length of a chunk is no number"))?;
        if length == 0 {
            // Trailers say nothing that is of use here.
            return Ok(());
        }
        read_exactly(from, length, answer)?;
        if !read_line(&mut from.take(MOST_HEAD))?.is_empty() {
            return Err(invalid("a chunk of the answer is longer than it says"));
        }
        if is_over(answer, is_enough) {
            return Ok(());
        }
    }
}

/// Reads until the connection ends.
fn read_to_end(from: &mut impl BufRead, answer: &mut Answer, is_enough: &dyn Fn(&Answer) -> bool) -> io::Result<()> {
    loop {
        let part = from.fill_buf()?;
        let length = part.len();
        if length == 0 {
            return Ok(());
        }
        answer.body.extend_from_slice(part);
        from.consume(length);
        if answer.body.len() as u64 > MOST_BODY {
            return Err(too_large());
        }
        if is_over(answer, is_enough) {
            return Ok(());
        }
    }
}

/// Tells if a stream of events has gone far enough: at the end of an event.
fn is_over(answer: &Answer, is_enough: &dyn Fn(&Answer) -> bool) -> bool {
    (answer.body.ends_with(b"\n\n") || answer.body.ends_with(b"\r\n\r\n")) && is_enough(answer)
}

/// Reads this many bytes.
fn read_exactly(from: &mut impl Read, length: u64, answer: &mut Answer) -> io::Result<()> {
    if (answer.body.len() as u64).saturating_add(length) > MOST_BODY {
        return Err(too_large());
    }
    let read = from.take(length).read_to_end(&mut answer.body)?;
    if (read as u64) < length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the answer breaks off"));
    }
    Ok(())
}

/// A line, without its end.
fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed without an answer"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

fn too_large() -> io::Error {
    invalid(&format!("the answer is larger than {MOST_BODY} bytes"))
}

#[cfg(test)]
mod tests {
    use super::read;

    fn body(answer: &str) -> Result<String, String> {
        let answer = read(answer.as_bytes(), &|_| false).map_err(|error| error.to_string())?;
        Ok(format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)))
    }

    #[test]
    fn bodies_end_where_they_say() {
        let length = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd";
        let chunks = "HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        for answer in [length, chunks, "HTTP/1.0 200 OK\n\nabc"] {
            assert_eq!(body(answer).as_deref(), Ok("200 abc"), "{answer}");
        }
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n").as_deref(), Ok("204 "));
    }

    #[test]
    fn a_stream_that_stays_open_is_left_at_the_end_of_an_event() {
        let chunks = "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: x\n\n\r\n";
        for answer in [chunks, "HTTP/1.1 200\r\n\r\ndata: x\n\n"] {
            let more = Endless(answer.as_bytes());
            let read = read(more, &|answer| answer.body.starts_with(b"data: x")).expect("an answer");
            assert_eq!(read.body, b"data: x\n\n");
        }
    }

    /// Bytes, after which reading fails.
    struct Endless(&'static [u8]);

    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(into)
        }
    }

    impl std::io::BufRead for Endless {
        fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
            if self.0.is_empty() { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(self.0) }
        }

        fn consume(&mut self, length: usize) {
            self.0.consume(length);
        }
    }

    #[test]
    fn broken_answers_are_refused() {
        let huge = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", u64::MAX);
        let sum = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nffffffffffffffff\r\n";
        let cases = [
            ("", "the connection was closed without an answer"),
            ("SSH-2.0\r\n\r\n", "the answer is no HTTP/1"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "the answer breaks off"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "the length of a chunk is no number"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
                "a chunk of the answer is longer than it says",
            ),
            (huge.as_str(), "the answer is larger than 268435456 bytes"),
            (sum, "the answer is larger than 268435456 bytes"),
        ];
        for (answer, problem) in cases {
            assert_eq!(body(answer), Err(problem.to_owned()), "{answer}");
        }
    }
}
