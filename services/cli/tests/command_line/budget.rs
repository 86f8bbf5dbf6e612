//! The largest requests that the contracts allow, alone and 64 at once, against one process with all six services: it
//! lives, stays within its memory, and answers health probes all the while.

mod requests;

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use emend_core::let_others_first;
use emend_proto::v1::{GradeDocumentsRequest, Passage, grader_service_client::GraderServiceClient};
use futures::FutureExt as _;
use futures::future::join_all;
use prost_reflect::DescriptorPool;
use tokio::runtime;
use tokio::sync::watch;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::{Place, readme::weights, up::Up};

/// The deadline of each large call. None has to be done by then: it is refused, or ends in time.
const DEADLINE: Duration = Duration::from_secs(2);
/// A guard against hanging, never a measure.
const HANG: Duration = Duration::from_secs(60);
/// Most time that a health probe may take, beside the time by which this machine is late with everything.
const MAX_PROBE: Duration = Duration::from_millis(250);
/// Most times that 99 of 100 small calls may take longer beside large ones, beside the time by which this machine is usually
/// late, where the services are optimised.
const MAX_SLOWER: u32 = 5;

/// Probes the health of every service at these addresses until `done`. The longest answer.
async fn probe(services: Vec<(String, String)>, mut done: watch::Receiver<bool>) -> Duration {
    let mut longest = Duration::ZERO;
    let clients: Vec<_> = services
        .into_iter()
        .map(|(service, url)| {
            let channel = Channel::from_shared(url).unwrap().connect_lazy();
            (service, HealthClient::new(channel))
        })
        .collect();
    while !*done.borrow_and_update() {
        for (service, client) in &clients {
            let asked = Instant::now();
            let mut client = client.clone();
            let checked = client
                .check(HealthCheckRequest::default())
                .map(|outcome| outcome.map(drop));
            let outcome = tokio::time::timeout(HANG, checked).await;
            assert!(matches!(outcome, Ok(Ok(()))), "{service}: {outcome:?}");
            longest = longest.max(asked.elapsed());
        }
        drop(tokio::time::timeout(Duration::from_millis(20), done.changed()).await);
    }
    longest
}

/// A call that a caller would make beside all others.
fn small() -> GradeDocumentsRequest {
    GradeDocumentsRequest {
        question: "How many days of leave?".to_owned(),
        passages: vec![Passage {
            id: "a".to_owned(),
            text: "Every employee has 25 days of leave.".to_owned(),
            ..Passage::default()
        }],
        ..GradeDocumentsRequest::default()
    }
}

/// Makes one small call after the other until `done`, or `calls` of them. How long 99 of 100 took at most, and how many were
/// refused.
async fn small_calls(grader: String, calls: usize, mut done: watch::Receiver<bool>) -> (Duration, usize) {
    let mut grader = GraderServiceClient::new(Channel::from_shared(grader).unwrap().connect_lazy());
    let (mut took, mut refused) = (Vec::new(), 0);
    while took.len() + refused < calls && !*done.borrow_and_update() {
        let asked = Instant::now();
        let graded = tokio::time::timeout(HANG, grader.grade_documents(small())).await;
        match graded.unwrap() {
            Ok(_) => took.push(asked.elapsed()),
            Err(status) => {
                assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                refused += 1;
            }
        }
        drop(tokio::time::timeout(Duration::from_millis(20), done.changed()).await);
    }
    took.sort();
    (took[took.len() * 99 / 100], refused)
}

/// How late this machine wakes a thread that wants nothing but to be woken.
struct Lateness {
    /// 99 of 100 times, at most.
    usual: Duration,
    most: Duration,
}

impl Lateness {
    async fn until(mut done: watch::Receiver<bool>) -> Self {
        const TICK: Duration = Duration::from_millis(5);
        let mut late = Vec::new();
        while !*done.borrow_and_update() {
            let slept = Instant::now();
            drop(tokio::time::timeout(TICK, done.changed()).await);
            late.push(slept.elapsed().saturating_sub(TICK));
        }
        late.sort();
        Self {
            usual: late[late.len() * 99 / 100],
            most: late[late.len() - 1],
        }
    }
}

/// How a call that is as large as it may be ends: it is done, or its time is over.
fn is_legal(outcome: &Result<(), Status>) -> bool {
    let code = outcome.as_ref().map_or_else(Status::code, |()| Code::Ok);
    // CANCELLED is what tonic's client calls its own end of a late call.
    matches!(code, Code::Ok | Code::DeadlineExceeded | Code::Cancelled)
}

/// How one of many such calls ends: as one alone, or refused for there being so many. What it is about may be gone by then,
/// or be removed meanwhile (UNAVAILABLE).
fn is_bounded(outcome: &Result<(), Status>) -> bool {
    let refused = |status: &Status| {
        matches!(
            status.code(),
            Code::ResourceExhausted | Code::NotFound | Code::FailedPrecondition | Code::Unavailable
        )
    };
    is_legal(outcome) || outcome.as_ref().is_err_and(refused)
}

/// Does something on a thread of its own.
fn beside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> thread::JoinHandle<T> {
    thread::spawn(|| {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(work)
    })
}

#[test]
fn the_largest_requests_neither_stop_nor_fill_nor_block_the_services() {
    let place = Place::new();
    loading().block_on(bear_the_largest_requests(
        &place,
        &mut place.emend(&["up"]),
        100,
        1 << 30,
    ));
}

#[test]
fn nor_do_they_where_the_services_have_the_weights_of_the_default_embedder() {
    let place = Place::new();
    let mut up = place.emend(&["up"]);
    up.env_remove("EMEND_EMBEDDER").env("EMEND_CACHE_DIR", weights());
    loading().block_on(bear_the_largest_requests(&place, &mut up, 2, 2 << 30));
}

/// What makes the large requests.
fn loading() -> runtime::Runtime {
    let threads = runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(let_others_first)
        .build();
    threads.unwrap()
}

/// Starts the services over so many stored documents, and has them bear the largest requests with at most so much memory.
#[expect(
    clippy::print_stdout,
    clippy::panic,
    reason = "it says which RPC hangs, and what it measured"
)]
async fn bear_the_largest_requests(place: &Place, up: &mut Command, documents: usize, most: u64) {
    let up = Up::start(
        up.env("EMEND_WEB_FOLDER", place.docs.path())
            .env("EMEND_FEEDBACK_DIR", place.data.path().join("feedback")),
    );
    requests::store(&up, documents).await;
    let (done, ended) = watch::channel(false);
    let load = async {
        for requests::Large { method, at_once, call } in requests::all(&up) {
            let alone = tokio::time::timeout(HANG, call()).await;
            let alone = alone.unwrap_or_else(|_| panic!("{method} hangs"));
            assert!(is_legal(&alone), "{method}: {alone:?}");
            let outcomes = tokio::time::timeout(HANG, join_all((0..at_once).map(|_| call()))).await;
            let outcomes = outcomes.unwrap_or_else(|_| panic!("{method}: {at_once} at once hang"));
            for outcome in &outcomes {
                assert!(is_bounded(outcome), "{method}, {at_once} at once: {outcome:?}");
            }
            let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            println!(
                "{method}: alone {}, of {at_once} at once {done} done; the process had at most {} MiB",
                alone.map_or_else(|status| format!("{:?}", status.code()), |()| "done".to_owned()),
                up.peak() >> 20
            );
        }
        done.send_replace(true);
    };
    // On threads of their own, which go before those that make the large requests: that would be done on other machines.
    let services = up
        .services()
        .map(|service| (service.clone(), up.url(service).to_owned()));
    let services = services.collect();
    let grader = up.url("grader").to_owned();
    let (quiet, _) = small_calls(grader.clone(), 200, ended.clone()).await;
    let probing = beside(probe(services, ended.clone()));
    let waking = beside(Lateness::until(ended.clone()));
    let calling = beside(small_calls(grader, usize::MAX, ended));
    let_others_first();
    load.await;
    let (probed, late) = (probing.join().unwrap(), waking.join().unwrap());
    println!(
        "the slowest of the health probes took {probed:?}; this machine was late by {:?}, 99 of 100 times by {:?} at most",
        late.most, late.usual
    );
    let (loaded, refused) = calling.join().unwrap();
    println!(
        "99 of 100 small calls took at most {quiet:?} alone and {loaded:?} beside the large ones; {refused} were refused"
    );
    // Nothing of it is kept: a small call is as good as ever.
    let mut grader = GraderServiceClient::new(up.channel("grader"));
    tokio::time::timeout(HANG, grader.grade_documents(small()))
        .await
        .unwrap()
        .unwrap();
    let peak = up.peak();
    assert!(peak <= most, "{} MiB", peak >> 20);
    // How long things take says nothing where they are not optimised.
    if !cfg!(debug_assertions) {
        assert!(probed <= MAX_PROBE + late.most, "a health probe took {probed:?}");
        assert!(
            loaded <= quiet * MAX_SLOWER + late.usual,
            "small calls: {quiet:?} and {loaded:?}"
        );
    }
}

#[tokio::test]
async fn no_rpc_is_left_out() {
    let place = Place::new();
    let up = Up::start(&mut place.emend(&["up"]));
    let tried = requests::all(&up).into_iter().map(|large| large.method.to_owned());
    let pool = DescriptorPool::decode(emend_proto::FILE_DESCRIPTOR_SET).unwrap();
    let services = pool
        .services()
        .filter(|service| service.full_name().starts_with("emend.v1."));
    let methods = services.flat_map(|service| service.methods().collect::<Vec<_>>());
    let there_are = methods.map(|method| format!("{}::{}", method.parent_service().name(), snake(method.name())));
    assert_eq!(tried.collect::<BTreeSet<_>>(), there_are.collect());
}

/// `GradeDocuments` as `grade_documents`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
