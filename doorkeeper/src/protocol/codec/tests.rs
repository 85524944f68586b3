use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::messages::{
    Copied, Entry, EntryKind, Exited, Failure, Fingerprint, Listed, Space, Spawn, Status, Stream, Transport, Used,
    WindowSize, WriteFile,
};
use super::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn stream() -> impl Strategy<Value = Stream> {
    prop_oneof![Just(Stream::Out), Just(Stream::Err)]
}

fn kind() -> impl Strategy<Value = EntryKind> {
    prop_oneof![Just(EntryKind::File), Just(EntryKind::Directory), Just(EntryKind::Link), Just(EntryKind::Other)]
}

fn address() -> impl Strategy<Value = SocketAddr> {
    let v6 = (any::<u128>(), any::<u16>(), any::<u32>(), any::<u32>());
    prop_oneof![
        (any::<u32>(), any::<u16>()).prop_map(|(ip, port)| SocketAddr::from((Ipv4Addr::from_bits(ip), port))),
        v6.prop_map(|(ip, port, flow, scope)| SocketAddrV6::new(Ipv6Addr::from_bits(ip), port, flow, scope).into()),
    ]
}

fn spawn() -> impl Strategy<Value = Spawn> {
    let ids = (any::<u32>(), any::<u32>(), vec(any::<u32>(), 0..5));
    let terminal = (any::<bool>(), option::of(window_size()));
    (vec(bytes(), 0..5), vec((bytes(), bytes()), 0..5), bytes(), ids, bytes(), terminal).prop_map(
        |(arguments, environment, directory, (uid, gid, groups), stdin, (more_input, terminal))| Spawn {
            arguments,
            environment,
            directory,
            uid,
            gid,
            groups,
            stdin,
            more_input,
            terminal,
        },
    )
}

fn window_size() -> impl Strategy<Value = WindowSize> {
    any::<(u16, u16)>().prop_map(|(rows, columns)| WindowSize { rows, columns })
}

fn write_file() -> impl Strategy<Value = WriteFile> {
    (bytes(), kind(), any::<(u32, u32, u32)>(), bytes(), any::<bool>()).prop_map(
        |(path, kind, (uid, gid, mode), content, append)| WriteFile { path, kind, uid, gid, mode, content, append },
    )
}

fn entry() -> impl Strategy<Value = Entry> {
    (bytes(), kind(), option::of(kind()), any::<(u64, u32, u32, u32)>(), any::<(u64, i64, i64)>()).prop_map(
        |(path, kind, leads_to, (size, mode, uid, gid), (inode, modified_ns, changed_ns))| Entry {
            path,
            kind,
            leads_to,
            size,
            mode,
            uid,
            gid,
            inode,
            modified_ns,
            changed_ns,
        },
    )
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    any::<([u8; 32], bool)>().prop_map(|(digest, whole)| Fingerprint { digest, whole })
}

fn exited() -> impl Strategy<Value = Exited> {
    let status = prop_oneof![any::<i32>().prop_map(Status::Code), any::<i32>().prop_map(Status::Signal)];
    (status, any::<(u64, u64, u64, u64)>()).prop_map(|(status, (wall_us, user_us, system_us, max_rss_kib))| Exited {
        status,
        wall_us,
        user_us,
        system_us,
        max_rss_kib,
    })
}

fn request() -> impl Strategy<Value = Request> {
    let id = any::<u32>;
    let transport = prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)];
    prop_oneof![
        (id(), spawn()).prop_map(|(id, spawn)| Request::Spawn { id, spawn }),
        (id(), id(), any::<i32>()).prop_map(|(id, command, signal)| Request::Signal { id, command, signal }),
        id().prop_map(|id| Request::KillAll { id }),
        (id(), id(), bytes()).prop_map(|(id, command, bytes)| Request::Input { id, command, bytes }),
        (id(), id(), window_size()).prop_map(|(id, command, size)| Request::Resize { id, command, size }),
        (id(), transport, address()).prop_map(|(id, transport, address)| Request::Listen { id, transport, address }),
        (id(), address()).prop_map(|(id, address)| Request::Connect { id, address }),
        (id(), bytes(), bytes(), any::<u64>()).prop_map(|(id, root, path, limit)| Request::Read {
            id,
            root,
            path,
            limit
        }),
        (id(), write_file()).prop_map(|(id, file)| Request::Write { id, file }),
        (id(), bytes(), write_file()).prop_map(|(id, root, file)| Request::Put { id, root, file }),
        (id(), bytes(), bytes(), any::<(u32, u32)>()).prop_map(|(id, root, path, (uid, gid))| Request::Remove {
            id,
            root,
            path,
            uid,
            gid
        }),
        (id(), bytes(), bytes(), any::<u64>(), any::<bool>())
            .prop_map(|(id, root, path, most, recursive)| { Request::Walk { id, root, path, most, recursive } }),
        (id(), bytes(), vec(bytes(), 0..5), any::<u64>())
            .prop_map(|(id, root, paths, most_bytes)| { Request::Fingerprint { id, root, paths, most_bytes } }),
        (id(), bytes(), bytes()).prop_map(|(id, root, path)| Request::ReadLink { id, root, path }),
        (id(), bytes(), bytes()).prop_map(|(id, from, to)| Request::Copy { id, from, to }),
        (id(), bytes()).prop_map(|(id, path)| Request::Space { id, path }),
        id().prop_map(|id| Request::Used { id }),
        (id(), bytes(), bytes(), id()).prop_map(|(id, root, path, mode)| Request::SetMode { id, root, path, mode }),
        (id(), bytes(), any::<u64>()).prop_map(|(id, path, leave)| Request::Fill { id, path, leave }),
        id().prop_map(|id| Request::Unfill { id }),
        (id(), any::<i32>()).prop_map(|(id, signal)| Request::SignalAll { id, signal }),
        (id(), stream(), id()).prop_map(|(id, stream, bytes)| Request::Credit { id, stream, bytes }),
        id().prop_map(|id| Request::Cancel { id }),
        id().prop_map(|id| Request::Stay { id }),
        Just(Request::Shutdown),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let id = any::<u32>;
    prop_oneof![
        id().prop_map(|id| Event::Done { id }),
        id().prop_map(|id| Event::Working { id }),
        (id(), any::<i32>(), ".*")
            .prop_map(|(id, errno, message)| Event::Failed { id, failure: Failure { errno, message } }),
        (id(), id()).prop_map(|(id, pid)| Event::Started { id, pid }),
        (id(), stream(), bytes()).prop_map(|(id, stream, bytes)| Event::Data { id, stream, bytes }),
        (id(), exited()).prop_map(|(id, exited)| Event::Exited { id, exited }),
        id().prop_map(|id| Event::Descriptor { id }),
        (id(), vec(entry(), 0..5)).prop_map(|(id, entries)| Event::Entries { id, entries }),
        (id(), any::<bool>()).prop_map(|(id, incomplete)| Event::Listed { id, listed: Listed { incomplete } }),
        (id(), vec(option::of(fingerprint()), 0..5), any::<u64>())
            .prop_map(|(id, fingerprints, bytes)| Event::Fingerprints { id, fingerprints, bytes }),
        (id(), any::<(u64, u64, u64)>()).prop_map(|(id, (entries, bytes, skipped))| Event::Copied {
            id,
            copied: Copied { entries, bytes, skipped }
        }),
        (id(), any::<(u64, u64, u64, u64)>()).prop_map(|(id, (total, free, least_free, free_inodes))| Event::Space {
            id,
            space: Space { total, free, least_free, free_inodes }
        }),
        (id(), any::<(u64, u64, u64)>()).prop_map(|(id, (user_us, system_us, max_rss_kib))| Event::Used {
            id,
            used: Used { user_us, system_us, max_rss_kib }
        }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any::<u16>().prop_map(|version| Message::Greeting(Greeting { version })),
        request().prop_map(Message::Request),
        event().prop_map(Message::Event),
    ]
}

/// Feeds all bytes at once and takes the first message.
fn decode(bytes: &[u8]) -> Result<Option<Message>, DecodeError> {
    let mut decoder = Decoder::default();
    decoder.feed(bytes);
    decoder.take()
}

proptest! {
    #[test]
    fn every_message_comes_back_however_its_bytes_are_cut(messages in vec(message(), 1..5), cut in 1_usize..50) {
        let bytes: Vec<u8> = messages.iter().flat_map(encode).collect();
        let (mut decoder, mut decoded) = (Decoder::default(), Vec::new());
        for piece in bytes.chunks(cut) {
            decoder.feed(piece);
            while let Some(message) = decoder.take().unwrap() {
                decoded.push(message);
            }
        }
        prop_assert!(!decoder.is_within_message());
        prop_assert_eq!(decoded, messages);
    }

    #[test]
    fn a_frame_that_is_cut_short_is_an_error_and_not_a_message(message in message(), cut in 1_usize..1000) {
        let mut frame = encode(&message);
        let length = frame.len() - PREFIX;
        let shorter = length.saturating_sub(cut).max(1).min(length - 1);
        prop_assume!(length > 1);
        frame.truncate(PREFIX + shorter);
        frame[..PREFIX].copy_from_slice(&u32::try_from(shorter).unwrap().to_be_bytes());
        prop_assert!(decode(&frame).is_err());
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let mut frame = u32::try_from(bytes.len()).unwrap().to_be_bytes().to_vec();
        frame.extend_from_slice(&bytes);
        if let Ok(Some(message)) = decode(&frame) {
            prop_assert_eq!(encode(&message), frame);
        }
    }
}

#[test]
fn a_length_that_is_not_allowed_is_refused_before_the_frame_arrives() {
    assert_eq!(decode(&[0, 0, 0, 0]), Err(DecodeError::Length(0)));
    assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff]), Err(DecodeError::Length(u32::MAX)));
}

#[test]
fn bytes_after_the_message_are_refused() {
    assert_eq!(decode(&[0, 0, 0, 4, 0, 0, 1, 9]), Err(DecodeError::TrailingBytes(1)));
}

#[test]
fn an_unknown_kind_is_refused() {
    assert_eq!(decode(&[0, 0, 0, 1, 99]), Err(DecodeError::UnknownKind(99)));
}

#[test]
fn a_list_that_claims_more_items_than_the_frame_holds_is_refused() {
    // Entries of request 1, of which there would be four billion.
    assert_eq!(decode(&[0, 0, 0, 9, 134, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]), Err(DecodeError::Truncated));
}

#[test]
fn a_list_whose_items_would_need_more_memory_than_a_frame_is_refused() {
    let count = 200_000_u32;
    let mut frame = vec![0; PREFIX];
    frame.extend_from_slice(&[134, 0, 0, 0, 1]);
    frame.extend_from_slice(&count.to_be_bytes());
    frame.resize(frame.len() + count as usize, 0);
    let length = u32::try_from(frame.len() - PREFIX).unwrap();
    frame[..PREFIX].copy_from_slice(&length.to_be_bytes());
    assert_eq!(decode(&frame), Err(DecodeError::TooMany { count: count as usize }));
}

#[test]
fn a_text_that_is_not_utf8_is_refused() {
    let failed = Event::Failed { id: 1, failure: Failure { errno: 0, message: "x".to_owned() } };
    let mut frame = encode(&failed.into());
    *frame.last_mut().unwrap() = 0xff;
    assert_eq!(decode(&frame), Err(DecodeError::NotText));
}

#[test]
fn data_costs_its_bytes_and_entries_their_frame() {
    let data = Event::Data { id: 1, stream: Stream::Out, bytes: vec![0; 10] };
    assert_eq!(data.credit(), 10);
    let entries = Event::Entries { id: 1, entries: Vec::new() };
    assert_eq!(entries.credit() as usize, encode(&entries.clone().into()).len());
    assert_eq!(Event::Done { id: 1 }.credit(), 0);
}
