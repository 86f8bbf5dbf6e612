//! Every fault of every service, while walks go on.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use emend_chassis::Upstream;
use emend_core::Deadline;
use emend_testkit::language_model::LanguageModel;
use emend_tests::PATIENCE;
use futures::{StreamExt as _, future::join_all, stream};
use tokio::{sync::watch, time::sleep};

use crate::{
    outcome::{Outcomes, asked, is_sound},
    overload::overload,
    processes::{NAMES, Service, Services, walk},
    proxy::{Proxy, Way},
};

/// Walks of all faults together, unless `EMEND_CHAOS_WALKS` says another number.
const WALKS: usize = 480;
/// Walks at once.
const AT_ONCE: usize = 16;
/// The time of a walk while something fails.
const DEADLINE: Duration = Duration::from_secs(3);
/// The time of a walk while nothing fails.
const UNHURRIED: Duration = Duration::from_secs(20);
/// How long the model takes for an answer.
const MODEL: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Killed,
    Stopped,
    Drained,
    CutOff(Way),
    Overloaded,
}

const FAULTS: [Fault; 8] = [
    Fault::Killed,
    Fault::Stopped,
    Fault::Drained,
    Fault::CutOff(Way::Swallows),
    Fault::CutOff(Way::Delays),
    Fault::CutOff(Way::Cuts),
    Fault::CutOff(Way::Garbles),
    Fault::Overloaded,
];

/// The services with an orchestrator that finds them at their own addresses, and one that finds them behind proxies, as do
/// its callers.
struct Place {
    services: Services,
    direct: Service,
    proxied: Service,
    proxies: Vec<Proxy>,
}

impl Place {
    async fn start() -> Self {
        let services = Services::start(LanguageModel::start_slow(MODEL).await).await;
        let direct = services.orchestrator();
        let mut proxies = Vec::new();
        for service in &services.all {
            proxies.push(Proxy::start(service.address).await);
        }
        let urls: Vec<_> = proxies
            .iter()
            .map(|proxy| format!("http://{}", proxy.address))
            .collect();
        let arguments = Services::found_at(&urls);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let proxied = Service::start("orchestrator", &arguments);
        proxies.push(Proxy::start(proxied.address).await);
        Self {
            services,
            direct,
            proxied,
            proxies,
        }
    }

    /// Where walks are asked for that this fault is to meet.
    fn orchestrator(&self, fault: Fault) -> String {
        match fault {
            Fault::CutOff(_) => self.proxies.last().unwrap().address.to_string(),
            _ => self.direct.address.to_string(),
        }
    }

    fn service(&mut self, place: usize) -> &mut Service {
        self.services.all.get_mut(place).unwrap_or(&mut self.direct)
    }
}

pub(crate) async fn run() {
    let walks = std::env::var("EMEND_CHAOS_WALKS").map_or(WALKS, |walks| walks.parse().unwrap());
    let each = walks.div_ceil(FAULTS.len() * NAMES.len());
    let mut place = Place::start().await;
    println!("fault             service        sound  degraded  failed  refused  recovered in");
    for fault in FAULTS {
        let address = place.orchestrator(fault);
        let target = format!("http://{address}");
        let upstream = Arc::new(Upstream::new(&target).unwrap());
        // What is measured is what a fault does to an orchestrator that worked.
        recovered(&target).await;
        for (number, name) in NAMES.iter().enumerate() {
            let outcomes = meet(&mut place, fault, number, &upstream, each).await;
            assert_eq!(outcomes.count(), each, "{fault:?} {name}: a walk is lost");
            let since = Instant::now();
            recovered(&target).await;
            let since = since.elapsed();
            println!("{:<17} {name:<12} {outcomes}  {since:>8.1?}", format!("{fault:?}"));
        }
    }
    // The other orchestrator went through none of it, or all of it.
    assert!(place.proxied.process().handles().is_some());
}

/// Walks, during which a fault comes, and is gone when they have ended.
async fn meet(place: &mut Place, fault: Fault, number: usize, upstream: &Arc<Upstream>, walks: usize) -> Outcomes {
    let (steps, begun) = (watch::Sender::new(0), watch::Sender::new(false));
    let mut begins = steps.subscribe();
    let walking = async {
        let each = stream::iter(0..walks).map(|walk_number| {
            let (steps, mut begun) = (steps.clone(), begun.subscribe());
            let upstream = Arc::clone(upstream);
            async move {
                // Half of them have begun when the fault comes.
                if walk_number >= walks / 2 {
                    begun.wait_for(|begun| *begun).await.unwrap();
                }
                walk(&upstream, asked(), Deadline::after(DEADLINE), &steps).await
            }
        });
        each.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await
    };
    let name = NAMES[number];
    let failing = async {
        begins.wait_for(|steps| *steps > 0).await.unwrap();
        let mut callers = None;
        match fault {
            Fault::Killed => place.service(number).kill(),
            Fault::Stopped => place.service(number).process().signal("STOP").unwrap(),
            Fault::Drained => {
                // The walks of the second half begin while it drains.
                begun.send_replace(true);
                place.service(number).drain().await;
            }
            Fault::CutOff(way) => place.proxies[number].set(way),
            Fault::Overloaded => callers = Some(overload(place.service(number))),
        }
        begun.send_replace(true);
        callers
    };
    let (walked, callers) = tokio::join!(walking, failing);
    drop(callers);
    match fault {
        Fault::Killed | Fault::Drained => place.service(number).restart(),
        Fault::Stopped => place.service(number).process().signal("CONT").unwrap(),
        Fault::CutOff(_) => place.proxies[number].set(Way::Open),
        Fault::Overloaded => {}
    }
    let address = place.orchestrator(fault);
    let mut outcomes = Outcomes::default();
    for walked in &walked {
        outcomes.add(name, &address, walked);
    }
    outcomes
}

/// Waits until walks over every thread of the orchestrator, each of which knows its servers for itself, end as if there had
/// been no fault.
async fn recovered(target: &str) {
    let (steps, since) = (watch::Sender::new(0), Instant::now());
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // Connections go to the threads in turn.
    let upstreams: Vec<_> = (0..2 * threads).map(|_| Upstream::new(target).unwrap()).collect();
    loop {
        let walks = upstreams.iter();
        let walks = walks.map(|upstream| walk(upstream, asked(), Deadline::after(UNHURRIED), &steps));
        let walked = join_all(walks).await;
        if walked.iter().flatten().filter(|result| is_sound(result)).count() == walked.len() {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "the fault is remembered: {walked:?}");
        sleep(Duration::from_millis(50)).await;
    }
}
