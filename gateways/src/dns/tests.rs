use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};
use std::sync::Arc;

use scenario::evidence::AuditEvent;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use super::message::MOST_BYTES;
use super::{Dns, Zone};
use crate::Gateway as _;
use crate::faults::FaultEngine;
use crate::faults::testing::engine;
use crate::redact::Redactor;

const MAIL: Ipv4Addr = Ipv4Addr::new(127, 10, 0, 1);

struct Running {
    dns: Dns,
    udp: SocketAddr,
    tcp: SocketAddr,
}

impl Running {
    fn new() -> Self {
        Self::with(None)
    }

    fn with(faults: Option<Arc<FaultEngine>>) -> Self {
        let secrets = BTreeMap::from([("KEY".to_owned(), "Tr0ub4dor".to_owned())]);
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let addresses = (udp.local_addr().expect("an address"), tcp.local_addr().expect("an address"));
        let zone = Zone::new([("mail".to_owned(), MAIL), ("API.example.com".to_owned(), MAIL)]);
        let dns = Dns::serve(udp, tcp, zone, Redactor::new(&secrets, "k"), Arc::default(), faults).expect("a server");
        Self { dns, udp: addresses.0, tcp: addresses.1 }
    }

    async fn send(&self, bytes: &[u8]) -> Message {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.send_to(bytes, self.udp).await.expect("sending");
        let mut buffer = [0; 2048];
        let size = socket.recv(&mut buffer).await.expect("an answer");
        Message::from_vec(&buffer[..size]).expect("a message")
    }

    async fn ask(&self, name: &str, kind: RecordType) -> Message {
        self.send(&question(name, kind).to_vec().expect("bytes")).await
    }
}

fn question(name: &str, kind: RecordType) -> Message {
    let mut message = Message::new(7, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).expect("a name"), kind));
    message
}

fn shown(answer: &Message) -> String {
    let addresses: Vec<_> = answer
        .answers
        .iter()
        .map(|record| match &record.data {
            RData::A(address) => address.0.to_string(),
            other => format!("{other:?}"),
        })
        .collect();
    format!("{:?} {}", answer.metadata.response_code, addresses.join(" ")).trim_end().to_owned()
}

#[tokio::test]
async fn known_names_have_an_address_and_others_do_not_exist() {
    let running = Running::new();
    let mut found = Vec::new();
    for (name, kind) in [
        ("mail", RecordType::A),
        ("MaiL.", RecordType::A),
        ("api.example.com.", RecordType::A),
        ("api.example.com", RecordType::AAAA),
        ("mail", RecordType::MX),
        ("a.localhost", RecordType::A),
        ("mail.example.com", RecordType::A),
        ("mail.example.com", RecordType::AAAA),
        ("nothing.services.internal", RecordType::A),
        ("1.0.10.127.in-addr.arpa", RecordType::PTR),
        (".", RecordType::NS),
    ] {
        let answer = running.ask(name, kind).await;
        assert!(
            answer.metadata.id == 7
                && !answer.metadata.recursion_available
                && answer.metadata.message_type == MessageType::Response
        );
        found.push(format!("{name} {kind}: {}", shown(&answer)));
    }
    insta::assert_snapshot!(found.join("\n"), @r"
    mail A: NoError 127.10.0.1
    MaiL. A: NoError 127.10.0.1
    api.example.com. A: NoError 127.10.0.1
    api.example.com AAAA: NoError
    mail MX: NoError
    a.localhost A: NoError 127.0.0.1
    mail.example.com A: NXDomain
    mail.example.com AAAA: NXDomain
    nothing.services.internal A: NXDomain
    1.0.10.127.in-addr.arpa PTR: NXDomain
    . NS: NXDomain
    ");
    assert_eq!(running.dns.questions().len(), found.len());
}

#[tokio::test]
async fn questions_come_over_tcp_too_and_with_extensions() {
    let running = Running::new();
    let mut message = question("mail", RecordType::A);
    message.set_edns(Edns::new());
    let bytes = message.to_vec().expect("bytes");
    assert!(running.send(&bytes).await.edns.is_some());
    let mut stream = TcpStream::connect(running.tcp).await.expect("a connection");
    for _ in 0..2 {
        stream.write_u16(u16::try_from(bytes.len()).expect("short")).await.expect("sending");
        stream.write_all(&bytes).await.expect("sending");
        let size = stream.read_u16().await.expect("an answer");
        let mut answer = vec![0; size.into()];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(shown(&Message::from_vec(&answer).expect("a message")), "NoError 127.10.0.1");
    }
    stream.write_all(&[0xff; 600]).await.expect("sending");
    assert!(stream.read_u16().await.is_err(), "a message that is too long ends the connection");
}

#[tokio::test]
async fn what_is_no_question_is_refused_or_dropped() {
    let running = Running::new();
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    // Neither has an answer; that of the question after them is the first to come.
    let mut noise = question("mail", RecordType::A);
    noise.metadata.message_type = MessageType::Response;
    socket.send_to(&noise.to_vec().expect("bytes"), running.udp).await.expect("sending");
    socket.send_to(b"short", running.udp).await.expect("sending");
    socket.send_to(&question("mail", RecordType::A).to_vec().expect("bytes"), running.udp).await.expect("sending");
    let mut buffer = [0; 512];
    let size = socket.recv(&mut buffer).await.expect("an answer");
    assert_eq!(shown(&Message::from_vec(&buffer[..size]).expect("a message")), "NoError 127.10.0.1");

    let code = async |bytes: Vec<u8>| running.send(&bytes).await.metadata.response_code;
    let mut two = question("mail", RecordType::A);
    two.add_query(Query::query(Name::from_ascii("api.example.com").expect("a name"), RecordType::A));
    assert_eq!(code(two.to_vec().expect("bytes")).await, ResponseCode::FormErr);
    let mut update = question("mail", RecordType::A);
    update.metadata.op_code = OpCode::Status;
    assert_eq!(code(update.to_vec().expect("bytes")).await, ResponseCode::NotImp);
    let mut chaos = question("version.bind", RecordType::TXT);
    chaos.queries[0].set_query_class(DNSClass::CH);
    assert_eq!(code(chaos.to_vec().expect("bytes")).await, ResponseCode::Refused);
    let mut cut = question("mail", RecordType::A).to_vec().expect("bytes");
    cut.truncate(15);
    assert_eq!(code(cut).await, ResponseCode::FormErr);
    let mut large = question("mail", RecordType::A).to_vec().expect("bytes");
    large.resize(MOST_BYTES + 1, 0);
    assert_eq!(code(large).await, ResponseCode::FormErr);
}

#[tokio::test]
async fn questions_are_written_down_without_secrets_until_the_end() {
    let running = Running::new();
    running.ask("setup.example", RecordType::A).await;
    running.dns.begin().await;
    running.ask("Tr0ub4dor.evil.example", RecordType::TXT).await;
    running.ask("tr0ub4dor.evil.example", RecordType::A).await;
    running.ask("mail", RecordType::A).await;
    running.dns.seal().await;
    running.ask("late.example", RecordType::A).await;
    let event = |name: &str, kind: &str, answer: Option<&str>| AuditEvent::Dns {
        name: name.to_owned(),
        kind: kind.to_owned(),
        answer: answer.map(ToOwned::to_owned),
    };
    let hidden = "[redacted:KEY:k].evil.example";
    let folded = "[redacted:KEY/case:k].evil.example";
    let expected = [event(hidden, "TXT", None), event(folded, "A", None), event("mail", "A", Some("127.10.0.1"))];
    let questions: Vec<_> = running.dns.questions().into_iter().map(|audited| audited.event).collect();
    assert_eq!(questions, expected);
    assert_eq!(running.dns.shared.questions.counted(), 0);
}

/// A server whose lookups fail as these rules say, and its faults.
fn failing(rules: &str) -> (Running, Arc<FaultEngine>) {
    let faults = Arc::new(engine(&format!("network_faults: [{rules}]"), 1));
    (Running::with(Some(Arc::clone(&faults))), faults)
}

#[tokio::test]
async fn a_lookup_fails_as_a_whole_when_the_trigger_says_so() {
    let (running, faults) = failing("{mode: dns_failure, names: [MAIL], on_calls: [2]}");
    let mut found = Vec::new();
    for (name, kind) in [
        ("mail", RecordType::A),
        ("mail", RecordType::AAAA),
        ("Mail", RecordType::A),
        ("mail", RecordType::AAAA),
        ("api.example.com", RecordType::A),
        ("mail", RecordType::A),
        ("mail", RecordType::AAAA),
    ] {
        found.push(format!("{name} {kind}: {}", shown(&running.ask(name, kind).await)));
    }
    insta::assert_snapshot!(found.join("\n"), @r"
    mail A: NoError 127.10.0.1
    mail AAAA: NoError
    Mail A: NXDomain
    mail AAAA: NXDomain
    api.example.com A: NoError 127.10.0.1
    mail A: NoError 127.10.0.1
    mail AAAA: NoError
    ");
    let record = faults.record();
    assert_eq!((record.rules[0].matched, record.rules[0].fired), (3, 1));
    assert_eq!((record.rules[0].target.as_str(), record.firings[0].target.as_str()), ("dns:MAIL", "dns:Mail"));
    let answers: Vec<_> = running.dns.questions().into_iter().map(|audited| audited.event).collect();
    let failed = AuditEvent::Dns { name: "Mail".to_owned(), kind: "A".to_owned(), answer: None };
    assert_eq!(answers[2], failed, "the audit says what the client was told");
}

#[tokio::test]
async fn a_server_can_fail_or_say_nothing_over_both_transports() {
    let rules = "{mode: dns_failure, names: [mail], answer: servfail}, \
                 {mode: dns_failure, names: ['*.example.com'], answer: timeout, times: 2}";
    let (running, faults) = failing(rules);
    assert_eq!(shown(&running.ask("mail", RecordType::A).await), "ServFail");
    assert_eq!(shown(&running.ask("mail", RecordType::AAAA).await), "ServFail");
    // The first question gets no answer; that of the one after it is the first to come.
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    for name in ["api.example.com", "mail"] {
        let bytes = question(name, RecordType::A).to_vec().expect("bytes");
        socket.send_to(&bytes, running.udp).await.expect("sending");
    }
    let mut buffer = [0; 512];
    let size = socket.recv(&mut buffer).await.expect("an answer");
    assert_eq!(shown(&Message::from_vec(&buffer[..size]).expect("a message")), "ServFail");
    let mut stream = TcpStream::connect(running.tcp).await.expect("a connection");
    for _ in 0..2 {
        let bytes = question("api.example.com", RecordType::A).to_vec().expect("bytes");
        stream.write_u16(u16::try_from(bytes.len()).expect("short")).await.expect("sending");
        stream.write_all(&bytes).await.expect("sending");
    }
    let mut answer = vec![0; stream.read_u16().await.expect("the second answer").into()];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(shown(&Message::from_vec(&answer).expect("a message")), "NoError 127.10.0.1");
    let fired: Vec<_> = faults.record().rules.iter().map(|rule| (rule.matched, rule.fired)).collect();
    assert_eq!(fired, [(2, 2), (3, 2)]);
}

#[tokio::test]
async fn only_names_that_exist_are_made_to_not_exist_and_only_for_the_agent() {
    let (running, faults) = failing("{mode: dns_failure, names: ['*'], times: 1}");
    assert_eq!(shown(&running.ask("nothing.example", RecordType::A).await), "NXDomain");
    assert!(faults.record().firings.is_empty(), "that is no fault");
    assert_eq!(shown(&running.ask("mail", RecordType::A).await), "NXDomain");
    faults.release().await;
    assert_eq!(shown(&running.ask("mail", RecordType::AAAA).await), "NoError");
    assert_eq!(shown(&running.ask("mail", RecordType::A).await), "NoError 127.10.0.1");
    assert_eq!((faults.record().rules[0].matched, faults.record().total()), (2, 1));
}
