//! A guarded write (permit, stamp, tenant, event, audit row, idempotency record) against plain sqlx writing the same
//! rows. Every contender has a database of its own and gets the same drafts in the same rounds, in turn; at the end all
//! databases must hold the same rows. The sequencer runs in none of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpuaas_domain::iam::Permit;
use gpuaas_store::Store;
use sqlx::sqlite::SqliteSynchronous;
use tokio::task::JoinSet;

use crate::databases::{self, Databases, Server};
use crate::drafts::{self, Draft, Rows};
use crate::figures::{Goal, Report, float};
use crate::plain::{Key, Pool};
use crate::{Result, progress};

const WRITERS: [u64; 2] = [1, 8];
const WARM_UP: u64 = 80;
const CALIBRATION: u64 = 400;
/// Rounds are short, so that a ratio compares moments in which the machine and its disk were equally busy.
const ROUND: Duration = Duration::from_millis(80);

#[derive(Clone)]
enum Way {
    Guarded(Store),
    Plain(Pool, Key),
}

struct Contender {
    name: &'static str,
    url: String,
    way: Way,
}

/// What one writer of a round has to write, made before the clock starts.
enum Work {
    Guarded(Store, Vec<Draft>),
    Plain(Pool, Key, Vec<Rows>),
}

impl Work {
    fn prepare(way: &Way, permit: &Permit, numbers: impl Iterator<Item = u64>) -> Result<Self> {
        let drafts = numbers.map(drafts::draft);
        Ok(match way.clone() {
            Way::Guarded(store) => Self::Guarded(store, drafts.collect::<Result<_>>()?),
            Way::Plain(pool, key) => {
                Self::Plain(pool, key, drafts.map(|draft| Rows::new(draft?, permit)).collect::<Result<_>>()?)
            }
        })
    }

    async fn run(self, permit: &Permit) -> Result {
        match self {
            Self::Guarded(store, drafts) => {
                for draft in drafts {
                    write_guarded(&store, permit, draft).await?;
                }
            }
            Self::Plain(pool, key, all) => {
                for rows in &all {
                    pool.write(rows, key).await?;
                }
            }
        }
        Ok(())
    }
}

/// The store's path, as an operation and its handler use it.
async fn write_guarded(store: &Store, permit: &Permit, draft: Draft) -> Result {
    let Draft { stamp, tenant, change, record } = draft;
    let mut tx = store.begin(permit, stamp).await?;
    tx.insert_tenant(&tenant).await?;
    Ok(tx.commit(change, Some(record)).await?)
}

/// Writes drafts `first..first + count` with so many writers; gives how long it took.
async fn write(way: &Way, permit: &Arc<Permit>, writers: u64, first: u64, count: u64) -> Result<Duration> {
    let mut works = Vec::new();
    for writer in 0..writers {
        let numbers = (first..first + count).filter(|number| number % writers == writer);
        works.push(Work::prepare(way, permit, numbers)?);
    }
    let mut running = JoinSet::new();
    let started = Instant::now();
    for work in works {
        let permit = permit.clone();
        running.spawn(async move { work.run(&permit).await });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(started.elapsed())
}

/// Fills a store with rows that wait for their numbers.
pub(crate) async fn fill(store: &Store, first: u64, count: u64) -> Result {
    write(&Way::Guarded(store.clone()), &Arc::new(drafts::permit()?), 8, first, count).await?;
    Ok(())
}

pub(crate) async fn measure(server: Server<'_>, seconds: u32, explain: bool, report: &mut Report) -> Result {
    let mut databases = Databases::new(server)?;
    let outcome = compete(server, &mut databases, seconds, explain, report).await;
    databases.remove().await?;
    outcome
}

async fn compete(
    server: Server<'_>,
    databases: &mut Databases<'_>,
    seconds: u32,
    explain: bool,
    report: &mut Report,
) -> Result {
    let contenders = open_contenders(server, databases, explain).await?;
    let permit = Arc::new(drafts::permit()?);
    let rounds = usize::try_from(Duration::from_secs(seconds.into()).as_millis() / ROUND.as_millis())?;
    let mut next = 0;
    for writers in WRITERS {
        progress(&format!("guarded against plain writes, {}, {writers} writer(s)", server.name()));
        let count = calibrate(&contenders, &permit, writers, &mut next).await?;
        let rates = run_rounds(&contenders, &permit, writers, (rounds, count), &mut next).await?;
        add_figures(server, &contenders, &rates, writers, report);
    }
    for contender in &contenders {
        match &contender.way {
            Way::Guarded(store) => store.close().await,
            Way::Plain(pool, _) => pool.close().await,
        }
    }
    check_equal(&contenders, next).await?;
    report.note(format!(
        "{}: each way wrote the same {next} tenants; all tables were compared and are equal.",
        server.name()
    ));
    Ok(())
}

async fn open_contenders(
    server: Server<'_>,
    databases: &mut Databases<'_>,
    explain: bool,
) -> Result<Vec<Contender>> {
    let url = databases.create("guarded").await?;
    let way = Way::Guarded(databases::open(&url).await?);
    let mut contenders = vec![Contender { name: "guarded", url, way }];
    let mut plain = vec![("plain", "plain", Key::Insert, SqliteSynchronous::Full)];
    if matches!(server, Server::Sqlite) {
        plain.push(("plain, synchronous NORMAL", "normal", Key::Insert, SqliteSynchronous::Normal));
    }
    if explain {
        plain.push((
            "plain + DELETE of an expired key",
            "deleting",
            Key::DeleteThenInsert,
            SqliteSynchronous::Full,
        ));
        plain.push(("plain, key by upsert", "upserting", Key::Upsert, SqliteSynchronous::Full));
    }
    for (name, label, key, synchronous) in plain {
        let url = databases.create(label).await?;
        let way = Way::Plain(Pool::open(server, &url, synchronous).await?, key);
        contenders.push(Contender { name, url, way });
    }
    Ok(contenders)
}

/// How many writes the slowest contender manages in a round; the same for every writer.
async fn calibrate(
    contenders: &[Contender],
    permit: &Arc<Permit>,
    writers: u64,
    next: &mut u64,
) -> Result<u64> {
    let mut slowest = Duration::ZERO;
    for count in [WARM_UP, CALIBRATION] {
        slowest = Duration::ZERO;
        for contender in contenders {
            slowest = slowest.max(write(&contender.way, permit, writers, *next, count).await?);
        }
        *next += count;
    }
    let each = float(CALIBRATION / writers) * ROUND.as_secs_f64() / slowest.as_secs_f64();
    Ok(writers * whole(each).max(4))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number, clamped to a small range"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.clamp(0.0, 20_000.0) as u64
}

/// Writes per second of every contender in every round.
async fn run_rounds(
    contenders: &[Contender],
    permit: &Arc<Permit>,
    writers: u64,
    (rounds, count): (usize, u64),
    next: &mut u64,
) -> Result<Vec<Vec<f64>>> {
    let mut rates = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        // Each round begins with another contender and every other one goes backwards: none always goes first, and
        // none always pays for what the same one has left to the disk.
        for turn in 0..contenders.len() {
            let forward = (round / 2 + turn) % contenders.len();
            let index = if round % 2 == 0 { forward } else { contenders.len() - 1 - forward };
            let took = write(&contenders[index].way, permit, writers, *next, count).await?;
            rates[index].push(float(count) / took.as_secs_f64());
        }
        *next += count;
    }
    Ok(rates)
}

fn add_figures(
    server: Server<'_>,
    contenders: &[Contender],
    rates: &[Vec<f64>],
    writers: u64,
    report: &mut Report,
) {
    let place = format!("{}, {writers} writer{}", server.name(), if writers == 1 { "" } else { "s" });
    let over = |above: &[f64], below: &[f64]| above.iter().zip(below).map(|(a, b)| a / b).collect::<Vec<_>>();
    let (guarded, plain) = (&rates[0], &rates[1]);
    report.add(
        format!("guarded / plain write, {place}"),
        &over(guarded, plain),
        "×",
        Some(Goal::AtLeast(0.8, "")),
    );
    for (contender, rates) in contenders.iter().zip(rates) {
        report.add(format!("  {} write, {place}", contender.name), rates, "/s", None);
    }
    for (contender, rates) in contenders.iter().zip(rates).skip(2) {
        report.add(format!("  {} / plain, {place}", contender.name), &over(rates, plain), "×", None);
    }
}

async fn check_equal(contenders: &[Contender], written: u64) -> Result {
    let mut expected = None;
    for contender in contenders {
        let prints = databases::fingerprints(&contender.url).await?;
        for (table, rows) in [
            ("tenants", written),
            ("events", written),
            ("audit", written),
            ("idempotency", written),
            ("unnumbered", 2 * written),
        ] {
            if prints.get(table).map(|print| print.rows) != Some(rows) {
                return Err(format!("{}: {table} does not have {rows} rows", contender.name).into());
            }
        }
        if *expected.get_or_insert_with(|| prints.clone()) != prints {
            return Err(format!("{} wrote other rows than {}", contender.name, contenders[0].name).into());
        }
    }
    Ok(())
}
