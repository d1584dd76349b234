//! Checking the hash chains, stretch by stretch, until their end.

use gpuaas_api::Route;
use gpuaas_api::observe::{AuditEntry, VerifyQuery, VerifyReport};
use gpuaas_domain::chain::Stream;
use serde::Serialize;

use super::audit::Streams;
use crate::failure::{Exit, Failure, Result};
use crate::session::{Session, parse};

/// Where a chain ended when somebody last looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    sequence: i64,
    hash: String,
}

impl std::str::FromStr for Head {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse =
            || "write it as SEQ:HASH, with the 64 hexadecimal digits an earlier check printed".to_owned();
        let (sequence, hash) = text.split_once([':', ' ']).ok_or_else(refuse)?;
        let sequence = sequence.parse().ok().filter(|number| *number >= 0).ok_or_else(refuse)?;
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(refuse());
        }
        Ok(Self { sequence, hash: hash.to_ascii_lowercase() })
    }
}

/// What `-o json` prints: the platform's reports, summed up per chain.
#[derive(Serialize)]
struct Verdict<'v> {
    ok: bool,
    streams: &'v [VerifyReport],
    problems: &'v [Problem],
}

#[derive(Serialize)]
struct Problem {
    stream: Stream,
    problem: String,
}

/// What a remembered head says about the chain of today.
#[derive(Debug, PartialEq, Eq)]
enum Remembered {
    Same,
    /// The chain is shorter than it was, or another row stands at its end.
    Cut(String),
    /// The chain has grown; the row at that place must be looked at.
    Grown,
}

fn compare(expected: &Head, report: &VerifyReport) -> Remembered {
    match report.head_sequence.cmp(&expected.sequence) {
        std::cmp::Ordering::Less => Remembered::Cut(format!(
            "the chain ends at {}, but it reached {} before: rows were cut off",
            report.head_sequence, expected.sequence
        )),
        std::cmp::Ordering::Equal if report.head_hash.eq_ignore_ascii_case(&expected.hash) => {
            Remembered::Same
        }
        std::cmp::Ordering::Equal => Remembered::Cut(replaced(expected.sequence)),
        std::cmp::Ordering::Greater => Remembered::Grown,
    }
}

fn replaced(sequence: i64) -> String {
    format!("row {sequence} has another hash than before: the chain was written anew")
}

pub(crate) async fn run(session: &Session<'_>, streams: Streams, expected: Option<Head>) -> Result<()> {
    let streams: &[Stream] = match streams {
        Streams::Audit => &[Stream::Audit],
        Streams::Events => &[Stream::Events],
        Streams::All if expected.is_some() => {
            return Err(Failure::usage("--expect-head belongs to one chain")
                .fix("name it with --stream audit or --stream events"));
        }
        Streams::All => &Stream::ALL,
    };
    let printer = session.printer();
    let (mut reports, mut problems) = (Vec::new(), Vec::new());
    for stream in streams {
        let report = check(session, *stream).await?;
        let mut problem = report
            .broken
            .as_ref()
            .map(|link| format!("row {} ({}): {}", link.sequence, link.row_id, link.problem));
        if problem.is_none() && !report.ok {
            problem = Some("the platform says the chain does not hold, without naming a row".to_owned());
        }
        if let (None, Some(expected)) = (&problem, &expected) {
            problem = against(session, expected, &report).await?;
        }
        if !printer.is_json() {
            let name = if streams.len() > 1 { format!("{} ", stream.name()) } else { String::new() };
            printer.line(&match &problem {
                None => format!(
                    "{name}ok: {} rows, head {} {}",
                    report.checked, report.head_sequence, report.head_hash
                ),
                Some(problem) => format!("{name}broken: {problem}"),
            })?;
            if report.pending > 0 {
                printer.note(&format!(
                    "{} rows are committed but not numbered yet; they are not covered.",
                    report.pending
                ));
            }
        }
        problems.extend(problem.map(|problem| Problem { stream: *stream, problem }));
        reports.push(report);
    }
    if printer.is_json() {
        printer.value(&Verdict { ok: problems.is_empty(), streams: &reports, problems: &problems })?;
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Said(Exit::No)) }
}

/// The whole chain as one report: all rows counted, the last head seen.
async fn check(session: &Session<'_>, stream: Stream) -> Result<VerifyReport> {
    let (mut checked, mut from) = (0, None);
    loop {
        let query = VerifyQuery { stream: Some(stream), from };
        let mut report: VerifyReport =
            session.client.call::<(), _>(Route::AuditVerify, &[], Some(&query), None).await?;
        checked += report.checked;
        report.checked = checked;
        let broken = !report.ok || report.broken.is_some();
        match report.next_from {
            Some(next) if !broken && from.is_none_or(|before| next > before) => {
                session.printer().note(&format!(
                    "{}: {checked} of {} rows checked",
                    stream.name(),
                    report.head_sequence
                ));
                from = Some(next);
            }
            Some(next) if !broken => {
                let message = format!("the platform asks to go on at {next}, which has been checked already");
                return Err(Failure::new(Exit::Trouble, "unexpected_answer", message));
            }
            Some(_) | None => return Ok(report),
        }
    }
}

async fn against(session: &Session<'_>, expected: &Head, report: &VerifyReport) -> Result<Option<String>> {
    match (compare(expected, report), report.stream) {
        (Remembered::Same, _) => Ok(None),
        (Remembered::Cut(problem), _) => Ok(Some(problem)),
        (Remembered::Grown, Stream::Audit) => Ok(match hash_at(session, expected.sequence).await? {
            Some(hash) if hash.eq_ignore_ascii_case(&expected.hash) => None,
            Some(_) => Some(replaced(expected.sequence)),
            None => Some(format!("row {} is gone", expected.sequence)),
        }),
        (Remembered::Grown, Stream::Events) => Err(Failure::new(
            Exit::No,
            "not_comparable",
            format!(
                "the chain is whole and has grown past {}, but events are listed without their hashes",
                expected.sequence
            ),
        )
        .fix("compare the head of the audit chain, whose rows show their hashes")),
    }
}

/// The hash of one audit row. There is no address for it, so the list is read until it comes by.
async fn hash_at(session: &Session<'_>, sequence: i64) -> Result<Option<String>> {
    let mut query = gpuaas_api::envelope::PageQuery { limit: Some(200), cursor: None };
    loop {
        let raw = session
            .client
            .call::<(), crate::json::Raw>(Route::PlatformAuditList, &[], Some(&query), None)
            .await?;
        let page: gpuaas_api::List<AuditEntry> = parse(&raw)?;
        if let Some(row) = page.items.iter().find(|row| row.sequence == sequence) {
            return Ok(Some(row.hash.clone()));
        }
        if page.next_cursor.is_none() || page.next_cursor == query.cursor {
            return Ok(None);
        }
        query.cursor = page.next_cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(head_sequence: i64, head_hash: &str) -> VerifyReport {
        VerifyReport {
            stream: Stream::Audit,
            ok: true,
            checked: head_sequence,
            next_from: None,
            head_sequence,
            head_hash: head_hash.into(),
            pending: 0,
            broken: None,
        }
    }

    #[test]
    fn a_remembered_head_notices_a_cut_and_a_rewrite() {
        let (hash, other) = ("ab".repeat(32), "cd".repeat(32));
        let head: Head = format!("7:{hash}").parse().unwrap();
        assert_eq!(compare(&head, &report(7, &hash)), Remembered::Same);
        assert!(matches!(compare(&head, &report(6, &hash)), Remembered::Cut(_)));
        assert!(matches!(compare(&head, &report(7, &other)), Remembered::Cut(_)));
        assert_eq!(compare(&head, &report(8, &other)), Remembered::Grown);
    }

    #[test]
    fn a_head_is_a_number_and_a_hash() {
        for bad in ["", "7", "7:", "x:ab", "-1:ab", "7:abc", &format!("7:{}", "zz".repeat(32))] {
            assert!(bad.parse::<Head>().is_err(), "{bad}");
        }
    }
}
