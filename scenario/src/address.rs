//! Classification of addresses as outside or not: the machine's own network, other machines near it, and ranges that
//! nobody has are not.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns why an address is never connected to, whatever name led to it; `None` for an address outside.
#[must_use]
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0, ..] => Some("an unspecified address"),
        [127, ..] => Some("a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("a private address"),
        [100, 64..=127, ..] => Some("an address of a provider's own network"),
        [169, 254, 169, 254] => Some("an address of a cloud's metadata"),
        [169, 254, ..] => Some("a link-local address"),
        // Cloud metadata of one provider, in a range of another.
        [168, 63, 129, 16] | [192, 0, 0, 192] => Some("an address of a cloud's metadata"),
        [192, 0, 0, _] => Some("a reserved address"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some("an address for documentation"),
        [192, 88, 99, _] => Some("an address of an old tunnel"),
        [198, 18..=19, ..] => Some("an address for benchmarks"),
        [224..=239, ..] => Some("a multicast address"),
        [255, 255, 255, 255] => Some("a broadcast address"),
        [240..=255, ..] => Some("a reserved address"),
        _ => None,
    }
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    if address.is_unspecified() {
        return Some("an unspecified address");
    }
    if address.is_loopback() {
        return Some("a loopback address");
    }
    if let Some(inner) = inner_v4(&segments) {
        return refusal_v4(inner);
    }
    match segments {
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254] => Some("an address of a cloud's metadata"),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("a private address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("an address for documentation"),
        [0x2001, 2, 0, ..] => Some("an address for benchmarks"),
        // Among them Teredo, whose inner addresses are those of whoever made the outer one.
        [0x2001, 0..=0x01ff, ..] => Some("an address of a tunnel or a protocol"),
        [0x5f00, ..] => Some("an address of a provider's own network"),
        [0x64, 0xff9b, 1, ..] => Some("a private address"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}

/// The address of the older kind that one of the newer kind stands for: mapped, compatible, translated (NAT64), 6to4.
fn inner_v4(segments: &[u16; 8]) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high, low].map(u16::to_be_bytes);
        Ipv4Addr::new(a, b, c, d)
    };
    match *segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(joined(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(joined(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use core::net::IpAddr;

    use super::refusal;

    #[test]
    fn only_the_outside_is_the_outside() {
        let refused = "
            0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 127.0.0.1 127.20.0.3 100.64.0.1 100.127.255.255 169.254.0.1 169.254.169.254
            172.16.0.1 172.31.255.255 192.168.0.1 192.0.0.1 192.0.0.192 192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255
            192.88.99.1 168.63.129.16 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
            :: ::1 ::127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1
            2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 3fff::1 2001:2::1 2001:10::1
            fc00::1 fd00:ec2::254 fd12:3456::1 fe80::1 febf::1 fec0::1 ff02::1 100::1 5f00::1 4000::1 ::2 200::1
        ";
        for address in refused.split_whitespace() {
            assert!(refusal(address.parse::<IpAddr>().expect("an address")).is_some(), "{address}");
        }
        let outside = "
            1.1.1.1 8.8.8.8 11.0.0.1 9.255.255.255 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 172.15.255.255
            172.32.0.1 192.167.255.255 192.169.0.1 192.0.1.1 198.17.255.255 198.20.0.1 223.255.255.255
            2606:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888 2001:200::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
        ";
        for address in outside.split_whitespace() {
            assert_eq!(refusal(address.parse::<IpAddr>().expect("an address")), None, "{address}");
        }
    }

    #[test]
    fn metadata_of_clouds_is_told_from_what_is_around_it() {
        let reason = |address: &str| refusal(address.parse().expect("an address"));
        for address in ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::169.254.169.254"] {
            assert_eq!(reason(address), Some("an address of a cloud's metadata"), "{address}");
        }
    }
}
