//! Which addresses pages may be fetched from: public ones, so that no link makes this service read what only it can
//! reach, such as a cloud's metadata or another pod (server-side request forgery).

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Networks of the IANA registries of special-purpose addresses that are not globally reachable, multicast, and what is
/// reserved.
const SPECIAL_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),       // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // shared by carriers; metadata of some clouds
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local; metadata of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, broadcast
];

/// Global unicast; everything else of IPv6 is special.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Networks within global unicast that are not globally reachable.
const SPECIAL_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, with Teredo, which holds an IPv4 address
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which holds an IPv4 address
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Decides about addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressPolicy {
    /// Networks that are allowed although they are not public.
    pub(crate) allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// Whether a page may be fetched from `address`.
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        // What the kernel connects to for ::ffff:10.0.0.1 is 10.0.0.1.
        let address = address.to_canonical();
        is_public(address) || self.allowed.iter().any(|network| network.contains(&address))
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4
            .iter()
            .any(|(network, bits)| Ipv4Net::new(*network, *bits).is_ok_and(|net| net.contains(&address))),
        IpAddr::V6(address) => {
            let within =
                |(network, bits): (Ipv6Addr, u8)| Ipv6Net::new(network, bits).is_ok_and(|net| net.contains(&address));
            within(GLOBAL_V6) && !SPECIAL_V6.iter().copied().any(within)
        }
    }
}

/// Looks a name up.
pub type Lookup = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync>;

/// The resolver of the system.
pub fn system_lookup() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// Resolves names to permitted addresses only. The client connects to exactly what this returns, so that a name cannot
/// change its address between the check and the connection (DNS rebinding).
#[derive(Clone)]
pub(crate) struct PermittedResolver {
    pub(crate) policy: Arc<AddressPolicy>,
    pub(crate) lookup: Lookup,
}

/// A name has no address that pages may be fetched from.
#[derive(Debug, thiserror::Error)]
#[error("its address is not public")]
pub(crate) struct NotPublic;

impl Resolve for PermittedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { policy, lookup } = self.clone();
        Box::pin(async move {
            let found = lookup(name.as_str().to_owned()).await?;
            let permitted: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| policy.permits(*address))
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if permitted.is_empty() {
                return Err(NotPublic.into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
