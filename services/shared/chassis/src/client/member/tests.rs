use tokio::net::TcpListener;

use super::super::outlier::REST;
use super::*;

fn members(count: u16) -> Vec<Arc<Member>> {
    let metrics = Arc::new(UpstreamMetrics::new("server"));
    let member = |port| {
        let endpoint = Endpoint::from_static("http://127.0.0.1:1");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Member::new(address, &endpoint, &Dial::Plain, &metrics)
    };
    (1..=count).map(member).collect()
}

fn later() -> Deadline {
    Deadline::after(Duration::from_secs(3600))
}

fn call(members: &[Arc<Member>]) -> Load {
    Load::on(members, later()).unwrap()
}

fn ports(members: &[Arc<Member>], calls: usize) -> Vec<u16> {
    (0..calls).map(|_| call(members).member.address.port()).collect()
}

/// A call that is answered after so long.
async fn answered_after(members: &[Arc<Member>], took: Duration) {
    let mut load = call(members);
    sleep(took).await;
    load.answered();
    load.worked();
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
    let held: Vec<_> = (0..20).map(|_| call(&members)).collect();
    assert_eq!(members[0].calls.load(Ordering::Relaxed), 10);
    drop(held);
    assert_eq!(members[1].calls.load(Ordering::Relaxed), 0);
    assert!(Load::on(&[], later()).unwrap_err().is_none());
}

#[test]
fn threads_that_compare_two_servers_from_both_sides_do_not_wait_for_each_other() {
    const THREADS: usize = 4;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let members: Arc<[_]> = runtime.block_on(async { members(2) }).into();
    let (done, ended) = std::sync::mpsc::channel();
    for _ in 0..THREADS {
        let (members, done) = (Arc::clone(&members), done.clone());
        std::thread::spawn(move || {
            for _ in 0..10_000 {
                let mut load = call(&members);
                load.answered();
                load.worked();
            }
            done.send(()).unwrap();
        });
    }
    for _ in 0..THREADS {
        let ended = ended.recv_timeout(Duration::from_secs(60));
        ended.expect("threads hold each other's locks");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_leaves_calls_unanswered_rests_and_is_tried_again() {
    let members = members(2);
    let bad = &members[..1];
    for _ in 0..MAX_FAILURES {
        assert!(ports(&members, 100).contains(&1));
        leave(bad, 2).await;
    }
    assert_eq!(ports(&members, 100), vec![2; 100]);
    sleep(REST.first).await;
    let tried = ports(&members, 100);
    assert_eq!(
        tried.iter().filter(|port| **port == 1).count(),
        1,
        "one call is enough to see"
    );
    sleep(REST.first).await;
    call(bad).worked();
    assert!(ports(&members, 100).contains(&1), "it answered");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_rests_ever_longer_until_a_call_works() {
    let members = members(2);
    let bad = &members[..1];
    let (early, _other) = (call(bad), call(&members[1..]));
    for failures in 0..MAX_FAILURES {
        // What works between two failures: they are not in a row.
        if failures == 2 {
            call(bad).worked();
            for _ in 1..MAX_FAILURES {
                call(bad).failed("it is down");
            }
            assert!(ports(&members, 100).contains(&1));
            call(bad).worked();
        }
        call(bad).failed("it is down");
    }
    for _ in 3..MAX_FAILURES {
        call(bad).failed("it is down");
    }
    for rests in 1..=8 {
        assert_eq!(ports(&members, 100), vec![2; 100]);
        sleep(REST.after(rests) - Duration::from_millis(1)).await;
        let resting = Load::on(bad, later()).unwrap_err().unwrap();
        assert_eq!(
            resting.to_string(),
            "127.0.0.1:1 fails (it is down), and is asked again in 1 ms",
            "{rests}"
        );
        sleep(Duration::from_millis(1)).await;
        call(bad).failed("it is down");
    }
    assert_eq!(REST.after(8), Duration::from_secs(5), "soon forgotten");
    // A call from before says nothing.
    early.worked();
    assert_eq!(ports(&members, 100), vec![2; 100]);
    sleep(REST.longest).await;
    call(bad).worked();
    assert!(ports(&members, 100).contains(&1));
    // And the next time it begins with a short rest.
    (0..MAX_FAILURES).for_each(|_| call(bad).failed("it is down"));
    sleep(REST.first).await;
    call(bad).worked();
}

#[tokio::test(start_paused = true)]
async fn ten_seconds_after_a_fault_calls_that_come_together_are_all_served() {
    let members = members(1);
    for rests in 1..=8 {
        match rests {
            1 => (0..MAX_FAILURES).for_each(|_| call(&members).failed("it is down")),
            _ => call(&members).failed("it is down"),
        }
        if rests < 8 {
            sleep(REST.after(rests)).await;
        }
    }
    assert!(Load::on(&members, later()).is_err());
    sleep(Duration::from_secs(10)).await;
    let calls: Vec<_> = (0..16).map(|_| call(&members)).collect();
    assert!(calls.iter().all(|call| !call.is_probe()));
    // And it is ejected no sooner than another.
    call(&members).failed("it is down");
    assert_eq!(ports(&members, 10), [1; 10]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_rests_while_half_of_the_others_stay() {
    let members = members(3);
    let (fast, slow) = (Duration::from_millis(50), Duration::from_millis(400));
    for _ in 0..20 {
        answered_after(&members[..1], fast).await;
        answered_after(&members[1..2], slow).await;
        answered_after(&members[2..], fast * 2).await;
    }
    let chosen = ports(&members, 200);
    assert!(!chosen[100..].contains(&2), "{chosen:?}");
    assert_eq!(ports(&members[1..2], 10), [2; 10], "slow is better than nothing");
    assert!(chosen.contains(&1) && chosen.contains(&3), "twice as long is not slow");
    // Of two servers that are left, both stay.
    for _ in 0..10 {
        answered_after(&members[2..], slow).await;
    }
    assert!(ports(&members, 100).contains(&3));
    sleep(REST.first).await;
    answered_after(&members[1..2], slow).await;
    assert!(ports(&members, 100).contains(&2), "what it took before is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_server_with_more_calls_is_not_slow_for_that() {
    let members = members(2);
    for _ in 0..5 {
        let mut held: Vec<_> = (0..10).map(|_| call(&members[..1])).collect();
        for load in &mut held {
            sleep(Duration::from_millis(60)).await;
            load.answered();
        }
        for _ in 0..10 {
            answered_after(&members[1..], Duration::from_millis(60)).await;
        }
    }
    assert!(ports(&members, 100).contains(&1));
    // As the last choice it is believed at once, whoever else is asked.
    members[0].standing(|standing| standing.eject(Fault::Slow));
    let first = call(&members[..1]);
    sleep(Duration::from_millis(1)).await;
    let second = call(&members[..1]);
    assert!(first.worked());
    drop(second);
    assert!(ports(&members, 100).contains(&1));
}

#[tokio::test(start_paused = true)]
async fn without_another_a_slow_server_is_as_good_as_any() {
    let members = members(2);
    for _ in 0..40 {
        answered_after(&members[..1], Duration::from_secs(9)).await;
    }
    assert!(ports(&members, 100).contains(&1), "nothing is known of the other");
    assert_eq!(ports(&members[..1], 10), [1; 10]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_little_time_and_one_who_leaves_say_nothing_about_the_server() {
    let members = members(2);
    for _ in 0..2 * MAX_FAILURES {
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
