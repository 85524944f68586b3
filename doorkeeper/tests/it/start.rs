use std::io::Read;

use doorkeeper::protocol::{Event, Greeting, Message, Request, VERSION};
use doorkeeper::socket::Connection;

use super::sandbox::{BOXED, Sandbox, UP, launch, possible, script};

#[test]
fn it_greets_and_answers() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    assert_eq!(sandbox.shell("echo hello"), "hello");
}

#[test]
fn requests_that_arrive_with_the_greeting_are_answered() {
    if !possible() {
        return;
    }
    let (_folder, listener, mut process) = launch(&[BOXED.as_slice(), &UP].concat());
    let mut connection = Connection::new(listener.accept().unwrap().0);
    let mut bytes = doorkeeper::protocol::encode(&Message::greeting());
    bytes.extend(doorkeeper::protocol::encode(&Request::Space { id: 9, path: b"/".to_vec() }.into()));
    bytes.extend(doorkeeper::protocol::encode(&Request::Shutdown.into()));
    std::io::Write::write_all(&mut connection.stream(), &bytes).unwrap();
    assert_eq!(connection.receive().unwrap().unwrap().0, Message::greeting());
    assert!(matches!(connection.receive().unwrap().unwrap().0, Message::Event(Event::Space { id: 9, .. })));
    assert!(process.wait().unwrap().success());
}

#[test]
fn another_version_ends_it_with_a_message() {
    if !possible() {
        return;
    }
    let (_folder, listener, mut process) = launch(&[BOXED.as_slice(), &UP].concat());
    let mut connection = Connection::new(listener.accept().unwrap().0);
    connection.send(&Message::Greeting(Greeting { version: 77 }), None).unwrap();
    assert!(!process.wait().unwrap().success());
    let mut text = String::new();
    process.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    let told = format!("the worker speaks version 77 of the protocol, and this doorkeeper {VERSION}");
    assert!(text.contains(&told), "{text}");
}

#[test]
fn shutdown_ends_it_well() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let id = sandbox.spawn(script("sleep 1000"));
    sandbox.started(id);
    sandbox.send(Request::Shutdown);
    let (status, text) = sandbox.end();
    assert!(status.success(), "{text}");
}

#[test]
fn a_worker_that_goes_away_ends_it() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let id = sandbox.spawn(script("setsid sleep 1000 & sleep 1000"));
    sandbox.started(id);
    sandbox.leave();
    let (status, text) = sandbox.end();
    assert!(!status.success());
    assert!(text.contains("the worker closed the connection"), "{text}");
}

#[test]
fn bytes_that_are_no_message_end_it_with_a_message() {
    for (bytes, expected) in [
        (vec![0xff; 8], "a frame of 4294967295 bytes"),
        (vec![0, 0, 0, 1, 99], "a message of the unknown kind 99"),
        (doorkeeper::protocol::encode(&Event::Done { id: 1 }.into()), "a message that is no request"),
    ] {
        let Some(mut sandbox) = Sandbox::new() else { return };
        sandbox.send_raw(&bytes);
        let (status, text) = sandbox.end();
        assert!(!status.success());
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_missing_socket_is_named() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_doorkeeper")).arg("/nowhere/socket").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(text.contains("could not connect to /nowhere/socket"), "{text}");
}
