//! Groups connections by the address of their client, as far as an address identifies one.

use std::net::IpAddr;

/// The bits of an IPv6 address that name a network; the rest its owner chooses freely.
const NETWORK: u32 = 64;

/// Returns the address by which connections are counted: that of a network for IPv6, where one machine has as many
/// addresses as it likes.
pub(crate) fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => IpAddr::V6((address.to_bits() >> NETWORK << NETWORK).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::peer;

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let check = |address: &str, expected: &str| {
            assert_eq!(peer(address.parse().expect("an address")), expected.parse::<std::net::IpAddr>().expect("one"));
        };
        check("192.0.2.7", "192.0.2.7");
        check("::ffff:192.0.2.7", "192.0.2.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("2001:db8:1:2:ffff::", "2001:db8:1:2::");
        check("::1", "::1");
    }
}
