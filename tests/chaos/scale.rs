//! One orchestrator, and graders that come and go behind one name.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use emend_chassis::{Server, ServiceOptions, Upstream, UpstreamOptions};
use emend_core::Deadline;
use emend_orchestrator::{
    Orchestrator, ServiceUrls, catalog,
    walk::{GrpcServices, WalkMetrics},
    work::{WalkRunner, WalkServices},
};
use emend_proto::v1::orchestrator_service_server::OrchestratorServiceServer;
use emend_testkit::language_model::LanguageModel;
use emend_tests::PATIENCE;
use futures::FutureExt as _;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    outcome::{GRAPH, asked, is_sound},
    processes::{Service, Services, walk, with_model},
};

/// How long a grade takes; a grader gives one at a time.
const GRADE: Duration = Duration::from_millis(50);
/// Walks at once: more than all graders together have time for.
const AT_ONCE: usize = 16;
/// Walks over which the load is looked at.
const WALKS: usize = 40;
/// How far from even the load of a grader may be.
const UNEVEN: f64 = 0.2;

/// A grader with a model of its own, which counts its grades.
struct Grader {
    service: Service,
    model: LanguageModel,
}

impl Grader {
    async fn start() -> Self {
        let model = LanguageModel::start_slow(GRADE).await;
        let url = model.url();
        let own = ["--grade-cache-entries", "0", "--llm-concurrency", "1"];
        Self {
            service: Service::start("grader", &[&with_model(&url, "llm")[..], &own].concat()),
            model,
        }
    }
}

/// The addresses of the graders, under the name `graders`.
type Name = watch::Sender<Vec<SocketAddr>>;

/// An orchestrator in this process, which looks the graders up as `name` has them.
async fn orchestrator(services: &Services, name: &Name) -> String {
    let [retriever_url, _, generator_url, rewriter_url, web_search_url] =
        [0, 1, 2, 3, 4].map(|place| services.all[place].url());
    let urls = ServiceUrls {
        retriever_url,
        grader_url: "http://graders:1".to_owned(),
        generator_url,
        rewriter_url,
        web_search_url,
    };
    let graders = name.subscribe();
    let resolver = move |host: &str, port: u16| {
        let found = match host.parse() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => graders.borrow().clone(),
        };
        async move { Ok(found) }.boxed()
    };
    let upstream = UpstreamOptions {
        resolver: Some(Arc::new(resolver)),
        ..UpstreamOptions::default()
    };
    let clients = WalkServices(Arc::new(move || Ok(Arc::new(GrpcServices::new(&urls, &upstream)?))));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let catalog = catalog::load_live(None).unwrap();
    let metrics = WalkMetrics::default();
    tokio::spawn(
        Server::new("emend-orchestrator", &ServiceOptions::default()).serve_actor(
            move || Arc::new(WalkRunner::new(clients.clone(), metrics.clone())),
            move |walks| OrchestratorServiceServer::new(Orchestrator::new(catalog, GRAPH, walks)),
            listener,
            CancellationToken::new(),
        ),
    );
    url
}

pub(crate) async fn run() {
    let services = Services::start(LanguageModel::start().await).await;
    let name = Name::default();
    let mut graders = [Grader::start().await, Grader::start().await, Grader::start().await];
    let all = [0, 1, 2].map(|place| graders[place].service.address);
    name.send_replace(all[..1].to_vec());
    let upstream = Arc::new(Upstream::new(&orchestrator(&services, &name).await).unwrap());

    let done = Arc::new(AtomicUsize::new(0));
    let mut walking = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (upstream, done, steps) = (Arc::clone(&upstream), Arc::clone(&done), watch::Sender::new(0));
        walking.spawn(async move {
            loop {
                let result = walk(&upstream, asked(), Deadline::after(PATIENCE), &steps)
                    .await
                    .unwrap();
                assert!(is_sound(&result), "{result:?}");
                done.fetch_add(1, Ordering::SeqCst);
            }
        });
    }

    let one = measure(&graders[..1], &done, &mut walking).await;
    println!("1 grader:  {one:>5.2} walks a second");
    name.send_replace(all.to_vec());
    let three = measure(&graders, &done, &mut walking).await;
    println!("3 graders: {three:>5.2} walks a second, {:.2} times one", three / one);

    // It is still connected to, by the operating system, and comes back by itself.
    graders[2].service.process().signal("STOP").unwrap();
    let stopped = measure(&graders[..2], &done, &mut walking).await;
    println!("3 graders: {stopped:>5.2} walks a second while one is stopped");
    graders[2].service.process().signal("CONT").unwrap();
    let before = graders[2].model.requests();
    until(&mut walking, || graders[2].model.requests() > before + AT_ONCE).await;

    // An orderly stop, while the name still has it.
    graders[2].service.drain().await;
    name.send_replace(all[..2].to_vec());
    let two = measure(&graders[..2], &done, &mut walking).await;
    println!("2 graders: {two:>5.2} walks a second, {:.2} times one", two / one);

    graders[1].service.kill();
    let again = measure(&graders[..1], &done, &mut walking).await;
    println!("1 grader:  {again:>5.2} walks a second after the other was killed");
    // What failed in a walk fails here.
    walking.abort_all();
    while let Some(ended) = walking.join_next().await {
        assert!(ended.unwrap_err().is_cancelled());
    }
}

/// Walks a second once all of these graders have calls, which share the load evenly.
async fn measure(graders: &[Grader], done: &AtomicUsize, walking: &mut JoinSet<()>) -> f64 {
    let counts = || graders.iter().map(|grader| grader.model.requests()).collect::<Vec<_>>();
    let begin = counts();
    until(walking, || counts().iter().zip(&begin).all(|(now, begin)| now > begin)).await;
    let (since, walks, begin) = (Instant::now(), done.load(Ordering::SeqCst), counts());
    until(walking, || done.load(Ordering::SeqCst) >= walks + WALKS).await;
    let walks = done.load(Ordering::SeqCst) - walks;
    let speed = f64::from(u32::try_from(walks).unwrap()) / since.elapsed().as_secs_f64();
    let loads: Vec<_> = counts().iter().zip(&begin).map(|(now, begin)| now - begin).collect();
    let even = loads.iter().sum::<usize>() as f64 / loads.len() as f64;
    println!("grades of each: {loads:?}");
    for load in &loads {
        assert!((*load as f64 - even).abs() <= UNEVEN * even, "{loads:?}");
    }
    speed
}

/// Waits until something is so, for as long as no walk has failed.
async fn until(walking: &mut JoinSet<()>, so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            if let Some(ended) = walking.try_join_next() {
                ended.unwrap();
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it never was so");
}
