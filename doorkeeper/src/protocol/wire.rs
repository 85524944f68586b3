//! Writes values into a frame and reads them back.
//!
//! Numbers are big-endian, a list or text is its length (four bytes) and its items. Reading never trusts a length: it is
//! compared with what the frame still holds before anything is allocated.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use super::messages::{
    Copied, Entry, EntryKind, Exited, Failure, Fingerprint, Greeting, Listed, Space, Spawn, Status, Stream, Transport,
    Used, WindowSize, WriteFile,
};
use super::{DecodeError, MAX_FRAME};

/// A value that can be part of a frame.
pub(super) trait Wire: Sized {
    /// Appends the value.
    fn put(&self, frame: &mut Vec<u8>);
    /// Takes the value from the front of the rest of a frame.
    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError>;
}

/// Takes this many bytes from the front.
fn split<'a>(frame: &mut &'a [u8], length: usize) -> Result<&'a [u8], DecodeError> {
    let (head, tail) = frame.split_at_checked(length).ok_or(DecodeError::Truncated)?;
    *frame = tail;
    Ok(head)
}

/// Takes a length, which cannot be more than the rest of the frame.
fn take_length(frame: &mut &[u8]) -> Result<usize, DecodeError> {
    let length = u32::take(frame)? as usize;
    if length > frame.len() { Err(DecodeError::Truncated) } else { Ok(length) }
}

/// Writes a length. [`super::encode`] refuses frames that are too long for it to fit.
fn put_length(length: usize, frame: &mut Vec<u8>) {
    u32::try_from(length).unwrap_or(u32::MAX).put(frame);
}

/// Numbers are written as their bytes.
macro_rules! wire_numbers {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn put(&self, frame: &mut Vec<u8>) {
                frame.extend_from_slice(&self.to_be_bytes());
            }
            fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
                let (head, tail) = frame.split_first_chunk().ok_or(DecodeError::Truncated)?;
                *frame = tail;
                Ok(Self::from_be_bytes(*head))
            }
        }
    )*};
}

wire_numbers!(u8, u16, u32, u64, i32, i64);

/// Structures are their fields, one after the other.
macro_rules! wire_structs {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Wire for $name {
            fn put(&self, frame: &mut Vec<u8>) {
                $(self.$field.put(frame);)*
            }
            fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
                Ok(Self { $($field: Wire::take(frame)?),* })
            }
        }
    )*};
}

wire_structs! {
    Greeting { version }
    Spawn { arguments, environment, directory, uid, gid, groups, stdin, more_input, terminal }
    WriteFile { path, kind, uid, gid, mode, content, append }
    Failure { errno, message }
    Exited { status, wall_us, user_us, system_us, max_rss_kib }
    Entry { path, kind, leads_to, size, mode, uid, gid, inode, modified_ns, changed_ns }
    Listed { incomplete }
    Fingerprint { digest, whole }
    Copied { entries, bytes, skipped }
    Space { total, free, least_free, free_inodes }
    Used { user_us, system_us, max_rss_kib }
    WindowSize { rows, columns }
}

/// Enumerations without fields are one byte.
macro_rules! wire_enums {
    ($($name:ident { $($tag:literal => $variant:ident),* })*) => {$(
        impl Wire for $name {
            fn put(&self, frame: &mut Vec<u8>) {
                frame.push(match self { $(Self::$variant => $tag),* });
            }
            fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
                match u8::take(frame)? {
                    $($tag => Ok(Self::$variant),)*
                    tag => Err(DecodeError::UnknownTag { of: stringify!($name), tag }),
                }
            }
        }
    )*};
}

wire_enums! {
    Transport { 0 => Tcp, 1 => Udp }
    Stream { 0 => Out, 1 => Err }
    EntryKind { 0 => File, 1 => Directory, 2 => Link, 3 => Other }
}

impl Wire for Status {
    fn put(&self, frame: &mut Vec<u8>) {
        let (tag, number) = match self {
            Self::Code(code) => (0_u8, code),
            Self::Signal(signal) => (1, signal),
        };
        tag.put(frame);
        number.put(frame);
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        match u8::take(frame)? {
            0 => Ok(Self::Code(i32::take(frame)?)),
            1 => Ok(Self::Signal(i32::take(frame)?)),
            tag => Err(DecodeError::UnknownTag { of: "Status", tag }),
        }
    }
}

impl<const LENGTH: usize> Wire for [u8; LENGTH] {
    fn put(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(self);
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        let (head, tail) = frame.split_first_chunk().ok_or(DecodeError::Truncated)?;
        *frame = tail;
        Ok(*head)
    }
}

impl Wire for bool {
    fn put(&self, frame: &mut Vec<u8>) {
        frame.push(u8::from(*self));
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        match u8::take(frame)? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(DecodeError::UnknownTag { of: "bool", tag }),
        }
    }
}

impl Wire for String {
    fn put(&self, frame: &mut Vec<u8>) {
        put_length(self.len(), frame);
        frame.extend_from_slice(self.as_bytes());
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        let length = take_length(frame)?;
        let text = std::str::from_utf8(split(frame, length)?).map_err(|_| DecodeError::NotText)?;
        Ok(text.to_owned())
    }
}

/// Items of a list. Bytes have a way of their own, because one at a time is slow.
pub(super) trait Item: Wire {
    /// Appends the items.
    fn put_all(items: &[Self], frame: &mut Vec<u8>) {
        for item in items {
            item.put(frame);
        }
    }

    /// Takes this many items.
    fn take_all(count: usize, frame: &mut &[u8]) -> Result<Vec<Self>, DecodeError> {
        if count.saturating_mul(size_of::<Self>()) > MAX_FRAME {
            return Err(DecodeError::TooMany { count });
        }
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(Self::take(frame)?);
        }
        Ok(items)
    }
}

impl Item for u32 {}
impl Item for Vec<u8> {}
impl Item for (Vec<u8>, Vec<u8>) {}
impl Item for Entry {}
impl Item for Option<Fingerprint> {}

impl Item for u8 {
    fn put_all(items: &[Self], frame: &mut Vec<u8>) {
        frame.extend_from_slice(items);
    }

    fn take_all(count: usize, frame: &mut &[u8]) -> Result<Vec<Self>, DecodeError> {
        Ok(split(frame, count)?.to_vec())
    }
}

impl<T: Item> Wire for Vec<T> {
    fn put(&self, frame: &mut Vec<u8>) {
        put_length(self.len(), frame);
        T::put_all(self, frame);
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        let count = take_length(frame)?;
        T::take_all(count, frame)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, frame: &mut Vec<u8>) {
        self.0.put(frame);
        self.1.put(frame);
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        Ok((A::take(frame)?, B::take(frame)?))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, frame: &mut Vec<u8>) {
        self.is_some().put(frame);
        if let Some(value) = self {
            value.put(frame);
        }
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        if bool::take(frame)? { T::take(frame).map(Some) } else { Ok(None) }
    }
}

impl Wire for SocketAddr {
    fn put(&self, frame: &mut Vec<u8>) {
        match self {
            Self::V4(address) => {
                frame.push(4);
                frame.extend_from_slice(&address.ip().octets());
            }
            Self::V6(address) => {
                frame.push(6);
                frame.extend_from_slice(&address.ip().octets());
                address.flowinfo().put(frame);
                address.scope_id().put(frame);
            }
        }
        self.port().put(frame);
    }

    fn take(frame: &mut &[u8]) -> Result<Self, DecodeError> {
        match u8::take(frame)? {
            4 => {
                let ip = u32::take(frame)?.to_be_bytes();
                Ok(Self::new(IpAddr::from(ip), u16::take(frame)?))
            }
            6 => {
                let bits = (u128::from(u64::take(frame)?) << 64) | u128::from(u64::take(frame)?);
                let (flow, scope) = (u32::take(frame)?, u32::take(frame)?);
                Ok(Self::V6(SocketAddrV6::new(Ipv6Addr::from_bits(bits), u16::take(frame)?, flow, scope)))
            }
            tag => Err(DecodeError::UnknownTag { of: "SocketAddr", tag }),
        }
    }
}
