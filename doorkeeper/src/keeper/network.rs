//! Sockets of the sandbox, made for the worker. All of them are non-blocking.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use doorkeeper::protocol::{Failure, Transport};
use rustix::io::Errno;
use rustix::net::sockopt::{set_ipv6_v6only, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use super::failure::failed;

/// Number of connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Opens a listening (TCP) or bound (UDP) socket.
pub(crate) fn open_listener(transport: Transport, address: SocketAddr) -> Result<OwnedFd, Failure> {
    try_listen(transport, address).map_err(|errno| failed(errno, format!("listen on {address}")))
}

/// Starts to connect.
pub(crate) fn open_connection(address: SocketAddr) -> Result<OwnedFd, Failure> {
    try_connect(address).map_err(|errno| failed(errno, format!("connect to {address}")))
}

/// Makes, binds and opens a socket.
fn try_listen(transport: Transport, address: SocketAddr) -> Result<OwnedFd, Errno> {
    let kind = match transport {
        Transport::Tcp => SocketType::STREAM,
        Transport::Udp => SocketType::DGRAM,
    };
    let socket = open(kind, address)?;
    if address.is_ipv6() {
        // So that the same port can be opened for both families.
        set_ipv6_v6only(&socket, true)?;
    }
    // Not for UDP, where it would let the agent bind the same address and take the datagrams.
    if transport == Transport::Tcp {
        set_socket_reuseaddr(&socket, true)?;
    }
    bind(&socket, &address)?;
    if transport == Transport::Tcp {
        listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}

/// Makes a socket and starts to connect it.
fn try_connect(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let socket = open(SocketType::STREAM, address)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Makes a socket.
fn open(kind: SocketType, address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}
