use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use doorkeeper::protocol::{Event, Request, Transport};

use super::sandbox::{Sandbox, script, wait_until};

fn listen(sandbox: &mut Sandbox, transport: Transport, address: &str) -> std::os::fd::OwnedFd {
    let address: SocketAddr = address.parse().unwrap();
    let id = sandbox.ask(|id| Request::Listen { id, transport, address });
    let (event, descriptor) = sandbox.event_and_descriptor(id);
    assert_eq!(event, Event::Descriptor { id });
    descriptor.unwrap()
}

#[test]
fn a_listener_of_the_box_is_served_from_outside() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let listener = TcpListener::from(listen(&mut sandbox, Transport::Tcp, "127.0.0.5:4567"));
    listener.set_nonblocking(false).unwrap();
    let script = script("bash -c 'exec 3<>/dev/tcp/127.0.0.5/4567; echo question >&3; cat <&3'");
    let id = sandbox.spawn(script);
    sandbox.started(id);
    let (mut stream, _) = listener.accept().unwrap();
    let mut question = [0; 9];
    stream.read_exact(&mut question).unwrap();
    assert_eq!(&question, b"question\n");
    stream.write_all(b"answer").unwrap();
    drop(stream);
    assert_eq!(sandbox.finish(id).text(), "answer");
}

#[test]
fn a_service_of_the_box_is_reached_from_outside() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    // The listener stands for a service in the box; the connection is made inside too.
    let listener = TcpListener::from(listen(&mut sandbox, Transport::Tcp, "127.0.0.1:0"));
    let address = listener.local_addr().unwrap();
    let id = sandbox.ask(|id| Request::Connect { id, address });
    let (event, descriptor) = sandbox.event_and_descriptor(id);
    assert_eq!(event, Event::Descriptor { id });
    let mut stream = TcpStream::from(descriptor.unwrap());
    stream.set_nonblocking(false).unwrap();
    listener.set_nonblocking(false).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    stream.write_all(b"through").unwrap();
    drop(stream);
    let mut text = String::new();
    accepted.set_nonblocking(false).unwrap();
    accepted.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through");
}

#[test]
fn datagrams_arrive() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let socket = UdpSocket::from(listen(&mut sandbox, Transport::Udp, "127.0.0.1:5353"));
    socket.set_nonblocking(false).unwrap();
    sandbox.shell("bash -c 'echo datagram > /dev/udp/127.0.0.1/5353'");
    let mut bytes = [0; 100];
    let length = socket.recv(&mut bytes).unwrap();
    assert_eq!(&bytes[..length], b"datagram\n");
}

#[test]
fn both_families_can_have_the_same_port() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let _four = listen(&mut sandbox, Transport::Tcp, "0.0.0.0:8080");
    let _six = listen(&mut sandbox, Transport::Tcp, "[::]:8080");
}

#[test]
fn an_address_that_is_taken_or_not_ours_fails_with_its_name() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let _taken = listen(&mut sandbox, Transport::Tcp, "127.0.0.1:4000");
    for (address, errno) in [("127.0.0.1:4000", 98), ("192.0.2.1:80", 99)] {
        let parsed = address.parse().unwrap();
        let id = sandbox.ask(|id| Request::Listen { id, transport: Transport::Tcp, address: parsed });
        let failure = sandbox.failure(id);
        assert_eq!(failure.errno, errno);
        assert!(failure.message.starts_with(&format!("listen on {address}: ")), "{}", failure.message);
    }
}

#[test]
fn the_doorkeeper_keeps_no_descriptor_that_it_handed_out() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    // Once it has answered, it has opened all that it needs.
    sandbox.shell("true");
    let folder = format!("/proc/{}/fd", sandbox.outer_pid());
    let count = || std::fs::read_dir(&folder).unwrap().count();
    let before = count();
    for _ in 0..50 {
        drop(listen(&mut sandbox, Transport::Tcp, "127.0.0.1:0"));
    }
    for _ in 0..50 {
        sandbox.run(script("true"));
    }
    wait_until("that all are closed", || count() == before);
}
