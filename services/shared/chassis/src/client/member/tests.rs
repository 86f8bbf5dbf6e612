use tokio::net::TcpListener;

use super::*;

fn members(count: u16) -> Vec<Arc<Member>> {
    let member = |port| {
        let endpoint = Endpoint::from_static("http://127.0.0.1:1");
        Member::new(SocketAddr::from(([127, 0, 0, 1], port)), &endpoint, &Dial::Plain)
    };
    (1..=count).map(member).collect()
}

fn later() -> Deadline {
    Deadline::after(Duration::from_secs(3600))
}

fn ports(members: &[Arc<Member>], calls: usize) -> Vec<u16> {
    let port = |_| Load::on(members, later()).unwrap().member.address.port();
    (0..calls).map(port).collect()
}

/// A call that is not answered before its deadline, of so many seconds.
async fn leave(members: &[Arc<Member>], seconds: u64) {
    let load = Load::on(members, Deadline::after(Duration::from_secs(seconds))).unwrap();
    sleep(Duration::from_secs(seconds)).await;
    drop(load);
}

#[tokio::test(start_paused = true)]
async fn calls_go_to_those_who_have_few() {
    let members = members(2);
    let held: Vec<_> = (0..20).map(|_| Load::on(&members, later()).unwrap()).collect();
    assert_eq!(members[0].calls.load(Ordering::Relaxed), 10);
    drop(held);
    assert_eq!(members[1].calls.load(Ordering::Relaxed), 0);
    assert!(Load::on(&[], later()).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_leaves_calls_unanswered_rests_and_is_tried_again() {
    let members = members(2);
    let bad = &members[..1];
    for _ in 0..MAX_TIMEOUTS {
        assert!(ports(&members, 100).contains(&1));
        leave(bad, 2).await;
    }
    assert_eq!(ports(&members, 100), vec![2; 100]);
    // Where there is no other it is still asked.
    assert_eq!(ports(bad, 1), [1]);
    sleep(REST).await;
    let tried = ports(&members, 100);
    assert_eq!(
        tried.iter().filter(|port| **port == 1).count(),
        1,
        "one call is enough to see"
    );
    Load::on(bad, later()).unwrap().answered();
    assert!(ports(&members, 100).contains(&1), "it answered");
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_little_time_and_one_who_leaves_say_nothing_about_the_server() {
    let members = members(2);
    for _ in 0..2 * MAX_TIMEOUTS {
        let load = Load::on(&members[..1], Deadline::after(Duration::from_millis(10))).unwrap();
        sleep(Duration::from_millis(20)).await;
        drop(load);
        drop(Load::on(&members[..1], later()));
    }
    assert!(ports(&members, 100).contains(&1));
}

#[tokio::test]
async fn a_server_is_there_when_it_speaks() {
    let limit = Duration::from_millis(50);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // It is connected to, by the operating system.
    assert!(matches!(
        greet(&Dial::Plain, address, limit).await,
        Err(Unanswered::Late(_))
    ));
    for (says, answers) in [
        (&b"\0\0\0\x04\0\0\0\0\0"[..], true),
        (b"HTTP/1.1 400 Bad Request", false),
    ] {
        let greeted = tokio::spawn(async move { greet(&Dial::Plain, address, Duration::from_secs(60)).await });
        // The first is the one from before.
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            connection.write_all(says).await.unwrap();
            drop(connection.read_to_end(&mut Vec::new()).await);
            if greeted.is_finished() {
                break;
            }
        }
        assert_eq!(greeted.await.unwrap().is_ok(), answers);
    }
}
