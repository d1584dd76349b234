//! The one place that writes: data to stdout, words to stderr, nothing unescaped to either.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use gpuaas_api::List;
use gpuaas_domain::text::is_deceptive;

use crate::failure::{Failure, Result, unexpected};
use crate::json::{Raw, compact, flatten, pretty};
use crate::views::{Facts, Row};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    #[value(alias = "text")]
    Table,
    /// For programs: what the API answered.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Good,
    Careful,
    Bad,
    Faint,
}

/// A live line must not wrap, or it could not be written over.
const LIVE_WIDTH: usize = 79;

pub(crate) struct Printer {
    output: Output,
    /// Colour on stdout and on stderr: a terminal that has not been told otherwise.
    colour: (bool, bool),
    /// Whether a line on stderr can be written over.
    live: bool,
}

impl Printer {
    pub(crate) fn new(output: Output, no_color: bool) -> Self {
        let colour = |is_terminal: bool| is_terminal && !no_color;
        Self {
            output,
            colour: (colour(std::io::stdout().is_terminal()), colour(std::io::stderr().is_terminal())),
            live: std::io::stderr().is_terminal(),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.output == Output::Json
    }

    /// A line of data, escaped.
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        self.write(&format!("{}\n", escape(text)))
    }

    /// Data whose line ends matter: a key, a script.
    pub(crate) fn text(&self, text: &str) -> Result<()> {
        let lines: Vec<_> = text.lines().map(escape).collect();
        self.write(&format!("{}\n", lines.join("\n")))
    }

    /// A line of somebody's program, with its tabs. `source` is this program's own idea of where it came from.
    pub(crate) fn log_line(&self, source: Option<&str>, line: &str) -> Result<()> {
        let source = source.map_or_else(String::new, |source| format!("{} | ", escape(source)));
        self.write(&format!("{source}{}\n", escape_but_tabs(line)))
    }

    /// What the platform sent as one line of JSON, as it is.
    pub(crate) fn raw_line(&self, raw: &str) -> Result<()> {
        self.write(&format!("{}\n", compact(raw)))
    }

    /// Text made by this program alone: nothing in it came from outside, and its tabs matter.
    pub(crate) fn script(&self, text: &str) -> Result<()> {
        self.write(text)
    }

    /// Lines whose parts were escaped where they came in; `make` is told whether there is colour.
    pub(crate) fn page(&self, make: impl FnOnce(bool) -> String) -> Result<()> {
        self.write(&make(self.colour.0))
    }

    /// The same beside a failure, where words go.
    pub(crate) fn page_aside(&self, make: impl FnOnce(bool) -> String) {
        drop(write!(std::io::stderr().lock(), "{}", make(self.colour.1)));
    }

    /// `mark` in colour, then the text.
    pub(crate) fn marked(&self, mark: &str, style: Style, text: &str) -> Result<()> {
        self.write(&format!("{} {}\n", paint(&format!("{mark:<4}"), style, self.colour.0), escape(text)))
    }

    pub(crate) fn json(&self, raw: &str) -> Result<()> {
        self.write(&format!("{}\n", pretty(raw)))
    }

    /// JSON on one line, for streams.
    pub(crate) fn json_line(&self, value: &impl serde::Serialize) -> Result<()> {
        let raw = serde_json::to_string(value).map_err(|source| unexpected(&source))?;
        self.write(&format!("{}\n", compact(&raw)))
    }

    pub(crate) fn value(&self, value: &impl serde::Serialize) -> Result<()> {
        self.json(&serde_json::to_string(value).map_err(|source| unexpected(&source))?)
    }

    /// A list as a table, or as the envelope it came in.
    pub(crate) fn list<T: Row>(&self, list: &List<Raw>) -> Result<()> {
        if self.is_json() {
            return self.value(list);
        }
        let rows = list
            .items
            .iter()
            .map(|raw| serde_json::from_str::<T>(raw.get()).map(|item| item.cells()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| unexpected(&source))?;
        self.rows(T::TITLES, T::EMPTY, &rows)
    }

    /// A table, or the sentence that stands for an empty one.
    pub(crate) fn rows(&self, titles: &[&str], empty: &str, rows: &[Vec<String>]) -> Result<()> {
        if rows.is_empty() {
            self.note(empty);
            return Ok(());
        }
        self.table(titles, rows)
    }

    /// One object in the words of its view, or as the platform sent it.
    pub(crate) fn facts<T: Facts>(&self, raw: &Raw) -> Result<()> {
        if self.is_json() {
            return self.json(raw.get());
        }
        self.members(&serde_json::from_str::<T>(raw.get()).map_err(|source| unexpected(&source))?.facts())
    }

    pub(crate) fn table(&self, titles: &[&str], rows: &[Vec<String>]) -> Result<()> {
        self.write(&render_table(titles, rows, self.colour.0))
    }

    /// One object, a line per member; nothing for an empty answer.
    pub(crate) fn object(&self, raw: &Raw) -> Result<()> {
        if raw.get() == "null" {
            return Ok(());
        }
        if self.is_json() {
            return self.json(raw.get());
        }
        let members = flatten(raw.get()).map_err(|source| unexpected(&source))?;
        let members: Vec<_> = members.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        self.members(&members)
    }

    pub(crate) fn members(&self, members: &[(&str, String)]) -> Result<()> {
        self.write(&render_members(members, self.colour.0))
    }

    /// Words for the person at the terminal. Losing them is not worth an error.
    #[expect(clippy::unused_self, reason = "writing is the printer's alone; without one nobody writes")]
    pub(crate) fn note(&self, text: &str) {
        drop(writeln!(std::io::stderr().lock(), "{}", escape(text)));
    }

    pub(crate) fn warn(&self, text: &str) {
        let label = paint("warning", Style::Careful, self.colour.1);
        drop(writeln!(std::io::stderr().lock(), "{label}: {}", escape(text)));
    }

    /// How far something is. At a terminal one line is written over again and again; elsewhere each change is a line.
    pub(crate) fn progress(&self, text: &str, aside: &str, changed: bool) {
        if self.is_json() {
            return;
        }
        let mut err = std::io::stderr().lock();
        if self.live {
            let line: String = escape(&format!("{text}{aside}")).chars().take(LIVE_WIDTH).collect();
            drop(write!(err, "\r\u{1b}[2K{line}").and_then(|()| err.flush()));
        } else if changed {
            drop(writeln!(err, "{}", escape(text)));
        }
    }

    /// What a program says that works for us: there to be seen, without weight. Nothing where programs read.
    pub(crate) fn aside(&self, line: &str) {
        if self.is_json() {
            return;
        }
        self.end_progress();
        let line = paint(&escape_but_tabs(line), Style::Faint, self.colour.1);
        drop(writeln!(std::io::stderr().lock(), "{line}"));
    }

    /// Takes the live line away, before anything else is said.
    pub(crate) fn end_progress(&self) {
        if self.live && !self.is_json() {
            let mut err = std::io::stderr().lock();
            drop(write!(err, "\r\u{1b}[2K").and_then(|()| err.flush()));
        }
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        let Some(body) = failure.body() else { return };
        let text = if self.is_json() {
            serde_json::to_string(&body).map(|raw| pretty(&raw)).unwrap_or_default()
        } else {
            render_failure(failure, self.colour.1)
        };
        drop(writeln!(std::io::stderr().lock(), "{text}"));
    }

    #[expect(clippy::unused_self, reason = "writing is the printer's alone; without one nobody writes")]
    fn write(&self, text: &str) -> Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }
}

/// What a server sent, made harmless: control characters, escape sequences and marks that hide or turn text are
/// spelled out.
pub(crate) fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if is_deceptive(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

/// The same for lines of a program, where tabs are layout and harmless.
pub(crate) fn escape_but_tabs(text: &str) -> String {
    text.split('\t').map(escape).collect::<Vec<_>>().join("\t")
}

pub(crate) fn paint(text: &str, style: Style, colour: bool) -> String {
    let code = match style {
        Style::Bold => "1",
        Style::Good => "32",
        Style::Careful => "33",
        Style::Bad => "31",
        Style::Faint => "2",
    };
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

pub(crate) fn render_table(titles: &[&str], rows: &[Vec<String>], colour: bool) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect()).collect();
    let widths: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(i, title)| {
            let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| width(cell));
            cells.chain([width(title)]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<_> = cells
            .zip(&widths)
            .map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide.saturating_sub(width(cell)))))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let head = line(&mut titles.iter().copied());
    let mut out = format!("{}\n", paint(&head, Style::Bold, colour));
    for row in &rows {
        out.push_str(&line(&mut row.iter().map(String::as_str)));
        out.push('\n');
    }
    out
}

pub(crate) fn render_members(members: &[(&str, String)], colour: bool) -> String {
    let wide = members.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    members.iter().fold(String::new(), |mut out, (name, value)| {
        let name = escape(name);
        let space = " ".repeat(wide.saturating_sub(width(&name)));
        // A key keeps its lines; each of them is escaped on its own.
        let lines: Vec<_> = value.trim_end().lines().map(escape).collect();
        let value =
            if lines.len() > 1 { format!("\n{}", lines.join("\n")) } else { escape(value.trim_end()) };
        writeln!(out, "{}{space}  {value}", paint(&name, Style::Bold, colour))
            .expect("writing to a String cannot fail");
        out
    })
}

fn render_failure(failure: &Failure, colour: bool) -> String {
    let Some(body) = failure.body() else { return String::new() };
    let error = body.error;
    let label = paint(&format!("error[{}]", escape(&error.code)), Style::Bad, colour);
    let mut lines = vec![format!("{label}: {}", escape(&error.message))];
    lines.extend(
        error.fields.iter().map(|field| format!("  --> {}: {}", escape(&field.path), escape(&field.message))),
    );
    lines.extend(reasons(&error).map(|reason| format!("  --> {}", escape(&reason))));
    lines.extend(failure.hint().map(|fix| format!("  fix: {}", escape(&fix))));
    if !error.correlation_id.is_empty() {
        lines.push(format!("  correlation id: {}", escape(&error.correlation_id)));
    }
    lines.join("\n")
}

/// What stands against each node, where a refusal lists nodes.
fn reasons(error: &gpuaas_api::ErrorDetail) -> impl Iterator<Item = String> {
    let nodes = error.params.get("nodes").and_then(serde_json::Value::as_array);
    nodes.into_iter().flatten().filter_map(|node| {
        Some(format!("node {}: {}", node.get("node")?.as_str()?, node.get("message")?.as_str()?))
    })
}

#[cfg(test)]
mod tests {
    use gpuaas_api::{ErrorDetail, FieldDetail};

    use super::*;

    #[test]
    fn nothing_a_server_says_reaches_the_terminal_raw() {
        let nasty = "a\u{1b}[31mred\u{7}\u{9b}x\u{202e}y\rz\n\u{200b}";
        let shown = escape(nasty);
        assert!(!shown.chars().any(is_deceptive), "{shown:?}");
        assert_eq!(shown, "a\\u{1b}[31mred\\u{7}\\u{9b}x\\u{202e}y\\rz\\n\\u{200b}");
        assert_eq!(escape("Größe 9 – Labor"), "Größe 9 – Labor");
        let table = render_table(&["NAME"], &[vec![nasty.into()]], false);
        assert!(!table.contains('\u{1b}') && table.lines().count() == 2, "{table:?}");
        let members = render_members(&[("k\u{1b}", nasty.into())], false);
        assert!(!members.contains('\u{1b}'), "{members:?}");
    }

    #[test]
    fn columns_line_up_and_lines_end_without_space() {
        let rows = [vec!["a".into(), "long cell".into()], vec!["größer".into(), "x".into()]];
        assert_eq!(
            render_table(&["ID", "NAME"], &rows, false),
            "ID      NAME\na       long cell\ngrößer  x\n"
        );
        assert!(render_table(&["ID"], &[], true).starts_with("\u{1b}[1mID"));
    }

    #[test]
    fn a_refusal_of_every_node_says_why_for_each() {
        let nodes = serde_json::json!([{"node": "gpu-1", "code": "cordoned", "message": "The node is\u{1b} cordoned."}, 3]);
        let detail = ErrorDetail {
            code: "no_capacity".into(),
            message: "No node has room.".into(),
            params: [("nodes".to_owned(), nodes)].into(),
            correlation_id: String::new(),
            fields: Vec::new(),
        };
        let failure = Failure::Api { status: 409, detail: Box::new(detail) };
        assert_eq!(
            render_failure(&failure, false),
            "error[no_capacity]: No node has room.\n  --> node gpu-1: The node is\\u{1b} cordoned.\n  \
             fix: try a smaller SKU, or ask an operator for room"
        );
    }

    #[test]
    fn an_error_says_what_where_and_what_next() {
        let field = FieldDetail {
            path: "/slug".into(),
            code: "invalid_slug".into(),
            message: "Use lower case.".into(),
        };
        let detail = ErrorDetail {
            code: "validation_failed".into(),
            message: "The request has fields\u{1b} that cannot be accepted.".into(),
            params: std::collections::BTreeMap::default(),
            correlation_id: "c-1".into(),
            fields: vec![field],
        };
        let failure = Failure::Api { status: 400, detail: Box::new(detail) };
        assert_eq!(failure.exit_code(), 8);
        assert_eq!(
            render_failure(&failure, false),
            "error[validation_failed]: The request has fields\\u{1b} that cannot be accepted.\n  --> /slug: Use lower case.\n  \
             fix: correct the fields named above; `--help` shows examples\n  correlation id: c-1"
        );
    }
}
