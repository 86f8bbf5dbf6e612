use super::*;

fn permits(policy: &AddressPolicy, address: &str) -> bool {
    policy.permits(address.parse().unwrap())
}

#[test]
fn only_public_addresses_are_permitted() {
    let policy = AddressPolicy::default();
    for address in [
        "1.1.1.1",
        "93.184.216.34",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.0.1",
        "100.128.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
    ] {
        assert!(permits(&policy, address), "{address}");
    }
    for address in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!permits(&policy, address), "{address}");
    }
}

#[test]
fn an_allowed_network_is_permitted_and_nothing_beside_it() {
    let policy = AddressPolicy {
        allowed: vec!["10.1.0.0/16".parse().unwrap(), "fd12::/16".parse().unwrap()],
    };
    for address in ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "1.1.1.1"] {
        assert!(permits(&policy, address), "{address}");
    }
    for address in ["10.2.0.1", "127.0.0.1", "fd13::1"] {
        assert!(!permits(&policy, address), "{address}");
    }
}

/// Resolves every name to `addresses`.
async fn resolved(addresses: &'static [&'static str]) -> Result<Vec<String>, String> {
    let resolver = PermittedResolver {
        policy: Arc::default(),
        lookup: Arc::new(|_| Box::pin(async { Ok(addresses.iter().map(|text| text.parse().unwrap()).collect()) })),
    };
    let found = resolver.resolve("example.com".parse().unwrap()).await;
    found
        .map(|addresses| addresses.map(|address| address.ip().to_string()).collect())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_name_resolves_to_its_public_addresses_only() {
    assert_eq!(
        resolved(&["1.1.1.1", "127.0.0.1", "fe80::1"]).await.unwrap(),
        ["1.1.1.1"]
    );
    for private in [&["169.254.169.254"][..], &["10.0.0.1", "::1"], &[]] {
        assert_eq!(resolved(private).await.unwrap_err(), "its address is not public");
    }
}
