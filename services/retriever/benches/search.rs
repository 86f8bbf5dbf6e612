//! How fast is a search, how much of what is near does it find, and what memory does it take?
//!
//! `cargo bench -p emend-retriever --bench search` fills the store on the local disk with passages of random unit vectors
//! and random words, 10,000 and then 100,000 unless `--passages` says otherwise, opens it again, and asks it for the four
//! nearest to other random vectors: by the HNSW graph and exactly, by embedding alone and together with words. Beside them, in
//! turns with them, this process compares every vector itself, as 32-bit floats on one thread, which is all that a search
//! without a store would do. Recall is the share of the scan's four that a search of embeddings finds.
//!
//! The embeddings of texts do not fill their space: they vary in some tens of directions, and so do these. With
//! `--intrinsic 384` they fill it, every vector is about as far from a query as every other, and no graph leads to the nearest.
//!
//! Without `--bench`, as `cargo test --benches` starts it, a few passages are stored and the exact search must find what the
//! scan finds. Speed is never an error.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use emend_retriever::backend::{
    Chunk, EdgeStore, EmbedderInfo, NewDocument, Query, Search, Section, Unit, VectorStore,
};
use emend_retriever::terms::Terms;
use fastrand::Rng;

type Failure = Box<dyn Error + Send + Sync>;

const NAME: &str = "bench";
/// Passages that are asked for.
const TOP: usize = 4;
/// Passages of a document.
const DOCUMENT: usize = 100;
/// Words that passages are made of, and words of a passage and of a query.
const VOCABULARY: usize = 20_000;
const WORDS: usize = 40;
const ASKED: usize = 4;

/// What is measured.
#[derive(Debug, Parser)]
#[command(name = "search")]
struct Arguments {
    /// Passages that are stored
    #[arg(long, value_name = "N", default_value = "10000,100000", value_delimiter = ',')]
    passages: Vec<usize>,

    /// Queries of each kind
    #[arg(long, value_name = "N", default_value = "500")]
    queries: usize,

    /// Values of an embedding
    #[arg(long, value_name = "N", default_value = "384")]
    dimensions: usize,

    /// Dimensions in which embeddings vary
    #[arg(long, value_name = "N", default_value = "32")]
    intrinsic: usize,

    /// Size of the candidate list of the HNSW search [default: the store's]
    #[arg(long, value_name = "N")]
    ef: Option<usize>,

    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Should standard error be closed, nobody is there to be told.
            drop(writeln!(io::stderr(), "search: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Arguments) -> Result<(), Failure> {
    if !arguments.bench {
        (arguments.passages, arguments.queries) = (vec![200], 20);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let mut out = io::stdout().lock();
    for passages in &arguments.passages {
        let rows = runtime.block_on(measure(&arguments, *passages))?;
        let scan = rows.last().map_or(Duration::ZERO, |row| row.p(50));
        let (values, intrinsic) = (arguments.dimensions, arguments.intrinsic);
        writeln!(
            out,
            "{passages} passages of {values} values that vary in {intrinsic} dimensions"
        )?;
        for row in &rows {
            let times = row.p(50).as_secs_f64() / scan.as_secs_f64();
            let recall = row
                .recall
                .map_or_else(String::new, |recall| format!("recall@{TOP} {recall:.4}"));
            writeln!(
                out,
                "  {:<14} p50 {:>8.3} ms  p99 {:>8.3} ms  {times:>6.2} x scan  {recall}",
                row.name,
                row.p(50).as_secs_f64() * 1000.0,
                row.p(99).as_secs_f64() * 1000.0,
            )?;
            if !arguments.bench && row.name == "dense exact" && row.recall != Some(1.0) {
                return Err(format!("the exact search found {:?} of what the scan found", row.recall).into());
            }
        }
        writeln!(
            out,
            "  memory         {} MiB more than before the store was opened",
            rows[0].memory >> 20
        )?;
    }
    Ok(())
}

/// One kind of search.
struct Row {
    name: &'static str,
    times: Vec<Duration>,
    /// Of the searches by embedding alone.
    recall: Option<f64>,
    /// Bytes that the store takes, the same in every row.
    memory: u64,
}

impl Row {
    fn p(&self, percent: usize) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times.get(times.len() * percent / 100).copied().unwrap_or_default()
    }
}

async fn measure(arguments: &Arguments, passages: usize) -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let mut rng = Rng::with_seed(7);
    let embeddings = Embeddings::new(arguments.intrinsic, arguments.dimensions, &mut rng);
    let vectors: Vec<f32> = (0..passages).flat_map(|_| embeddings.next(&mut rng)).collect();
    fill(folder.path(), &vectors, arguments.dimensions, &mut rng).await?;
    let before = resident();
    let store = EdgeStore::open(folder.path())?;
    let kinds = [
        ("dense hnsw", false, false),
        ("dense exact", false, true),
        ("hybrid hnsw", true, false),
        ("hybrid exact", true, true),
    ];
    let mut times = [const { Vec::new() }; 5];
    let mut found = [0; 4];
    for query in 0..=arguments.queries {
        let embedding = embeddings.next(&mut rng);
        let terms = Terms::of_query(&words(&mut rng, ASKED));
        let began = Instant::now();
        let nearest = scan(&vectors, &embedding);
        let scanned = began.elapsed();
        for (kind, (_, hybrid, exact)) in kinds.iter().enumerate() {
            let search = Search {
                query: match hybrid {
                    true => Query::Hybrid(embedding.clone().into(), terms.clone()),
                    false => Query::Dense(embedding.clone().into()),
                },
                limit: TOP,
                unit: Unit::Chunk,
                filter: Vec::new(),
                language: None,
                ef: arguments.ef,
                exact: *exact,
            };
            let began = Instant::now();
            let hits = store.search(NAME, search).await?;
            let took = began.elapsed();
            let is_near = |number: &usize| {
                let (document, index) = (format!("{:06}", number / DOCUMENT), number % DOCUMENT);
                hits.iter()
                    .any(|hit| hit.document == document && hit.index as usize == index)
            };
            // The first query opens the store.
            if query > 0 {
                times[kind].push(took);
                found[kind] += nearest.iter().filter(|number| is_near(number)).count();
            }
        }
        if query > 0 {
            times[4].push(scanned);
        }
    }
    let memory = resident().saturating_sub(before);
    let [hnsw, exact, hybrid, hybrid_exact, scan] = times;
    let recall = |kind: usize| Some(found[kind] as f64 / (arguments.queries * TOP.min(passages)) as f64);
    let row = |name, times, recall| Row {
        name,
        times,
        recall,
        memory,
    };
    Ok(vec![
        row(kinds[0].0, hnsw, recall(0)),
        row(kinds[1].0, exact, recall(1)),
        row(kinds[2].0, hybrid, None),
        row(kinds[3].0, hybrid_exact, None),
        row("scan", scan, None),
    ])
}

/// Stores the passages, and waits until the graph that they are due is built.
async fn fill(folder: &std::path::Path, vectors: &[f32], dimensions: usize, rng: &mut Rng) -> Result<(), Failure> {
    let store = EdgeStore::open(folder)?;
    let embedder = EmbedderInfo {
        id: "random".to_owned(),
        dimensions,
    };
    for (number, vectors) in vectors.chunks(DOCUMENT * dimensions).enumerate() {
        let (mut text, mut chunks, mut start) = (String::new(), Vec::new(), 0);
        for (index, vector) in vectors.chunks(dimensions).enumerate() {
            // Its number keeps it from being a copy of another one.
            let piece = format!("{number} {index} {}. ", words(rng, WORDS));
            let end = start + u32::try_from(piece.len())?;
            chunks.push(Chunk {
                section: 0,
                start,
                end,
                embedding: Some(vector.into()),
                terms: Terms::of_passage(&piece),
            });
            text.push_str(&piece);
            start = end;
        }
        let document = NewDocument {
            id: format!("{number:06}"),
            fingerprint: [0; 32],
            title: String::new(),
            source: String::new(),
            owner: String::new(),
            metadata: Default::default(),
            sections: vec![Section {
                start: 0,
                text,
                headings: Vec::new(),
            }],
            chunks,
        };
        store.put(NAME, &embedder, document).await?;
    }
    // The graph is built in the background, and keeps writers waiting.
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.delete(NAME, vec!["nothing".to_owned()]).await?;
    store.close().await;
    Ok(())
}

/// The numbers of the nearest vectors, by comparing all of them.
fn scan(vectors: &[f32], query: &[f32]) -> Vec<usize> {
    let mut scored: Vec<(f32, usize)> = vectors
        .chunks_exact(query.len())
        .map(|vector| dot(vector, query))
        .zip(0..)
        .collect();
    let top = TOP.min(scored.len());
    if top < scored.len() {
        scored.select_nth_unstable_by(top, |left, right| right.0.total_cmp(&left.0));
    }
    scored.into_iter().take(top).map(|(_, number)| number).collect()
}

/// In lanes, which the compiler turns into vector instructions.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let (left, left_rest) = left.as_chunks::<16>();
    let (right, right_rest) = right.as_chunks::<16>();
    for (left, right) in left.iter().zip(right) {
        for lane in 0..16 {
            lanes[lane] += left[lane] * right[lane];
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    lanes.iter().sum::<f32>() + rest
}

/// Random directions that some of them span.
struct Embeddings {
    basis: Vec<Vec<f32>>,
}

impl Embeddings {
    fn new(intrinsic: usize, dimensions: usize, rng: &mut Rng) -> Self {
        let basis = (0..intrinsic).map(|_| normal(rng, dimensions)).collect();
        Self { basis }
    }

    fn next(&self, rng: &mut Rng) -> Vec<f32> {
        let mut values = vec![0.0; self.basis.first().map_or(0, Vec::len)];
        for (weight, direction) in normal(rng, self.basis.len()).into_iter().zip(&self.basis) {
            for (value, part) in values.iter_mut().zip(direction) {
                *value += weight * part;
            }
        }
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    }
}

/// Normal numbers, which prefer no direction; twelve uniform ones together are as good.
fn normal(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count)
        .map(|_| (0..12).map(|_| rng.f32()).sum::<f32>() - 6.0)
        .collect()
}

/// Words, some of them far more often than others.
fn words(rng: &mut Rng, count: usize) -> String {
    let mut word = || {
        let mut number = (VOCABULARY as f64).powf(rng.f64()) as usize;
        let mut letters = String::from("w");
        while number > 0 {
            letters.push(char::from(b'a' + (number % 26) as u8));
            number /= 26;
        }
        letters
    };
    (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
}

/// Bytes of this process in memory; 0 where the system does not tell.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kib.map_or(0, |kib: u64| kib << 10)
}
