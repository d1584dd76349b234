//! What was measured, and how it is shown.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What a figure should be, and why if that needs words.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64, &'static str),
    Below(f64, &'static str),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound, _) => value >= bound,
            Self::Below(bound, _) => value < bound,
        }
    }

    fn text(self, unit: &str) -> String {
        let (sign, bound, why) = match self {
            Self::AtLeast(bound, why) => ("≥", bound, why),
            Self::Below(bound, why) => ("<", bound, why),
        };
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        format!("{sign} {} {unit}{why}", trimmed(bound))
    }
}

pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    goal: Option<Goal>,
    samples: Vec<f64>,
}

pub(crate) struct Report {
    seconds: u32,
    load_before: String,
    load_after: String,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl Figure {
    fn shown(&self) -> String {
        let value = format!("{} {}", grouped(self.value), self.unit);
        match interval(&self.samples) {
            Some((low, high)) if self.goal.is_some() => {
                format!("{value} ({} to {})", grouped(low), grouped(high))
            }
            _ => value,
        }
    }

    /// Whether the goal lies where the median may well be: then this run does not say whether it is met.
    fn is_unsettled(&self) -> bool {
        let met = |value: f64| self.goal.is_none_or(|goal| goal.is_met(value));
        interval(&self.samples).is_some_and(|(low, high)| met(low) != met(high))
    }
}

impl Report {
    pub(crate) fn begin(seconds: u32) -> Self {
        Self {
            seconds,
            load_before: load_average(),
            load_after: String::new(),
            figures: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn end(&mut self) {
        self.load_after = load_average();
        let unsettled: Vec<_> = self
            .figures
            .iter()
            .filter(|figure| figure.is_unsettled())
            .map(|figure| figure.name.as_str())
            .collect();
        if !unsettled.is_empty() {
            let text = format!(
                "Not settled, the goal is inside the 95 % interval: {}. Run longer or on a quiet machine.",
                unsettled.join("; ")
            );
            self.notes.push(text);
        }
    }

    /// A figure is the median of its samples.
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        samples: &[f64],
        unit: &'static str,
        goal: Option<Goal>,
    ) {
        self.figures.push(Figure {
            name: name.into(),
            value: median(samples),
            unit,
            goal,
            samples: samples.to_vec(),
        });
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    pub(crate) fn missed(&self) -> usize {
        self.figures.iter().filter(|figure| verdict(figure) == "MISS").count()
    }

    fn conditions(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        format!(
            "{cores} cores, load average {} before and {} after (1, 5, 15 minutes), {} s per figure; medians, in \
             parentheses their 95 % interval",
            self.load_before, self.load_after, self.seconds
        )
    }

    pub(crate) fn table(&self) -> String {
        let rows: Vec<[String; 4]> = self
            .figures
            .iter()
            .map(|figure| {
                let goal = figure.goal.map_or_else(|| "-".to_owned(), |goal| goal.text(figure.unit));
                [figure.name.clone(), figure.shown(), goal, verdict(figure).to_owned()]
            })
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (name, value, goal) = (width(0), width(1), width(2));
        let mut out = String::new();
        for row in &rows {
            let line = format!("{:<name$}  {:>value$}  {:<goal$}  {}", row[0], row[1], row[2], row[3]);
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let _ = writeln!(out, "\n{}", self.conditions());
        for note in &self.notes {
            let _ = writeln!(out, "{note}");
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let figures: Vec<_> = self
            .figures
            .iter()
            .map(|figure| {
                json!({
                    "name": figure.name,
                    "value": figure.value,
                    "unit": figure.unit,
                    "goal": figure.goal.map(|goal| goal.text(figure.unit)),
                    "met": figure.goal.map(|goal| goal.is_met(figure.value)),
                    "interval_95": interval(&figure.samples).map(|(low, high)| [low, high]),
                    "samples": figure.samples,
                })
            })
            .collect();
        json!({"conditions": self.conditions(), "figures": figures, "notes": self.notes, "missed": self.missed()})
    }
}

fn verdict(figure: &Figure) -> &'static str {
    match figure.goal {
        None => "",
        Some(goal) if goal.is_met(figure.value) => "ok",
        Some(_) => "MISS",
    }
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Where the true median lies with 95 % certainty, from the ranks of the samples; none if they are too few.
fn interval(samples: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = float(sorted.len() as u64);
    let below = (count / 2.0 - 0.98 * count.sqrt()).floor();
    if below < 1.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank between 1 and the number of samples"
    )]
    let rank = below as usize;
    Some((sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// Three digits that matter, thousands apart.
fn grouped(value: f64) -> String {
    let text = match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    thousands(&text)
}

fn trimmed(value: f64) -> String {
    thousands(&format!("{value}"))
}

fn thousands(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out + rest
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_and_says_what_missed() {
        let mut report = Report::begin(1);
        report.add("idle", &[41.26], "MiB", Some(Goal::Below(60.0, "")));
        report.add("list", &[4000.0, 5000.0, 1.0], "/s", Some(Goal::AtLeast(5900.0, "why")));
        let table = report.table();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "idle  41.3 MiB  < 60 MiB          ok");
        assert_eq!(lines[1], "list  4 000 /s  ≥ 5 900 /s (why)  MISS");
        assert_eq!(report.missed(), 1);
        assert_eq!(report.json()["figures"][0]["met"], true);
    }

    #[test]
    fn a_goal_inside_the_interval_is_not_settled() {
        let samples: Vec<f64> = (0..100).map(|n| 0.5 + f64::from(n) / 100.0).collect();
        let figure = |bound| Figure {
            name: "ratio".to_owned(),
            value: median(&samples),
            unit: "×",
            goal: Some(Goal::AtLeast(bound, "")),
            samples: samples.clone(),
        };
        assert!(figure(0.95).is_unsettled());
        assert!(!figure(0.8).is_unsettled());
        assert_eq!(interval(&[1.0, 2.0, 3.0]), None);
    }
}
