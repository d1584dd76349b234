//! Faults shown in the text they are about, as a compiler shows them.
//!
//! One path for what is found here and for what the platform refuses: a pointer becomes a line, a column and a mark under
//! it. The text is the author's or somebody else's: nothing of it reaches the terminal unescaped, tabs and wide characters
//! are counted as they are shown, and of a long line only the part around the mark is. What was found to be a secret is not
//! shown at all: a terminal may be a log of a build that others read.

use std::ops::Range;

use gpuaas_domain::FieldError;
use gpuaas_domain::manifest::{
    Places, Position, Severity, find_code, looks_like_secret, position, tree_and_places,
};
use gpuaas_domain::text::is_deceptive;

use crate::failure::Failure;
use crate::printer::{Printer, Style, escape, paint};
use crate::source::{Text, written};

/// Columns of a line that are shown at most, and how many of them before the mark.
const MOST_COLUMNS: usize = 100;
const BEFORE_MARK: usize = 40;
const TAB: usize = 4;
/// Bytes on either side of a mark.
const MOST_LOOKED_AT: usize = 2000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) path: String,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(severity: Severity, fault: &FieldError) -> Self {
        let (path, message) = (fault.path.clone(), fault.message.clone());
        Self { severity, path, code: fault.code.to_owned(), message }
    }

    /// What to do; nothing for a code that is newer than this program.
    pub(crate) fn help(&self) -> Option<&'static str> {
        find_code(&self.code).map(|code| code.fix)
    }
}

/// A text and where its parts stand.
pub(crate) struct Page {
    name: String,
    text: String,
    places: Places,
}

impl Page {
    pub(crate) fn new(text: &Text) -> Self {
        let (_, places) = tree_and_places(&text.bytes, text.format);
        Self { name: text.name.clone(), text: written(&text.bytes), places }
    }

    fn mark(&self, finding: &Finding) -> Option<Range<usize>> {
        let span = self.places.mark(&self.text, &finding.path, &finding.code)?.span;
        Some(self.inside(&span, finding).unwrap_or(span))
    }

    /// The word of an expression that a finding is about, where the text stands in the document as it is read.
    fn inside(&self, span: &Range<usize>, finding: &Finding) -> Option<Range<usize>> {
        let (number, _) = finding.message.strip_prefix("At character ")?.split_once(':')?;
        let written = self.text.get(span.clone())?;
        let quote = written.chars().next().filter(|c| matches!(c, '"' | '\''));
        let inner = match quote {
            Some(quote) => written.strip_prefix(quote)?.strip_suffix(quote)?,
            None => written,
        };
        if inner.contains(['\\', '\n']) || quote.is_some_and(|quote| inner.contains(quote)) {
            return None;
        }
        let at = number.parse::<usize>().ok()?.checked_sub(1)?;
        let (from, first) = inner.char_indices().nth(at)?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = &inner[from..];
        let long =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let start = span.start + quote.map_or(0, char::len_utf8) + from;
        Some(start..start + long)
    }

    /// Where a finding stands.
    pub(crate) fn position(&self, finding: &Finding) -> Option<Position> {
        self.mark(finding).map(|span| position(&self.text, span.start))
    }

    /// All findings in the order of the text; those of one place are told together.
    pub(crate) fn render(&self, findings: &[Finding], colour: bool) -> String {
        let mut placed: Vec<(Option<Range<usize>>, &Finding)> =
            findings.iter().map(|finding| (self.mark(finding), finding)).collect();
        placed.sort_by_key(|(span, finding)| {
            (span.as_ref().map(|span| (span.start, span.end)), finding.severity, &finding.path)
        });
        let secrets: Vec<Range<usize>> = findings
            .iter()
            .filter(|finding| finding.code == "raw_secret_not_allowed" && !finding.path.ends_with("/type"))
            .filter_map(|finding| Some(self.places.find(&finding.path)?.value.clone()))
            .collect();
        let mut lines = Vec::new();
        for group in placed.chunk_by(|(one, _), (other, _)| one == other) {
            let together: Vec<&Finding> = group.iter().map(|(_, finding)| *finding).collect();
            self.group(group[0].0.as_ref(), &together, &secrets, colour, &mut lines);
            lines.push(String::new());
        }
        lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat()
    }

    fn group(
        &self,
        span: Option<&Range<usize>>,
        findings: &[&Finding],
        secrets: &[Range<usize>],
        colour: bool,
        lines: &mut Vec<String>,
    ) {
        let style = |severity: Severity| match severity {
            Severity::Error => Style::Bad,
            Severity::Warning => Style::Careful,
        };
        for finding in findings {
            let label = format!("{}[{}]", finding.severity.name(), escape(&finding.code));
            let label = paint(&label, style(finding.severity), colour);
            lines.push(format!("{label}: {}", escape(&finding.message)));
        }
        let name = escape(&self.name);
        let faint = |text: &str| paint(text, Style::Faint, colour);
        let mut wide = 2;
        if let Some(span) = span {
            let Position { line, column } = position(&self.text, span.start);
            let number = line.to_string();
            wide = wide.max(number.len());
            let gutter = faint(&format!("{:wide$} |", ""));
            let (shown, before, under) = self.line(span, secrets);
            let worst = findings.iter().map(|finding| finding.severity).min().unwrap_or(Severity::Error);
            let carets = paint(&"^".repeat(under), style(worst), colour);
            lines.push(format!("{}{name}:{line}:{column}", faint(&format!("{:wide$}--> ", ""))));
            lines.push(gutter.clone());
            lines.push(format!("{} {shown}", faint(&format!("{number:>wide$} |"))));
            lines.push(format!("{gutter} {}{carets}", " ".repeat(before)));
        } else {
            lines.push(format!("{}{name}", faint("  --> ")));
        }
        let mut aside = |what: &str, text: &str| {
            lines.push(format!("{} {text}", faint(&format!("{:wide$} = {what}:", ""))));
        };
        let mut said = Vec::new();
        for finding in findings {
            if finding.path != "/" {
                aside("at", &escape(&finding.path));
            }
            if let Some(help) = finding.help().filter(|help| !said.contains(help)) {
                aside("help", help);
                said.push(help);
            }
        }
    }

    /// The line of a span as it can be shown, the columns before the mark, and the columns under it.
    fn line(&self, span: &Range<usize>, secrets: &[Range<usize>]) -> (String, usize, usize) {
        let start = self.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[span.start..].find('\n').map_or(self.text.len(), |at| span.start + at);
        // Of a document on one line, what is far away is not looked at again for every finding.
        let start = start.max(self.text.floor_char_boundary(span.start.saturating_sub(MOST_LOOKED_AT)));
        let end = end.min(self.text.floor_char_boundary(span.start + MOST_LOOKED_AT));
        let line = self.text[start..end].trim_end_matches('\r');
        let mut cells = cells(line);
        for cell in &mut cells {
            if secrets.iter().any(|secret| secret.contains(&(start + cell.byte))) {
                (cell.shown, cell.width) = ("*".to_owned(), 1);
            }
        }
        if looks_like_secret(&cells.iter().map(|cell| cell.shown.as_str()).collect::<String>()) {
            return ("(this line looks like it holds a secret)".to_owned(), 0, 1);
        }
        let column = |byte: usize| {
            cells.iter().take_while(|cell| start + cell.byte < byte).map(|cell| cell.width).sum::<usize>()
        };
        let (from, to) = (column(span.start), column(span.end.max(span.start + 1).min(end)));
        let first = if from > MOST_COLUMNS - BEFORE_MARK { from - BEFORE_MARK } else { 0 };
        let (mut shown, mut at, mut cut) = (String::new(), 0, false);
        let mut skipped = 0;
        for cell in &cells {
            if at < first {
                skipped = at + cell.width;
            } else if at + cell.width > first + MOST_COLUMNS {
                cut = true;
                break;
            } else {
                shown.push_str(&cell.shown);
            }
            at += cell.width;
        }
        let last = if cut { first + MOST_COLUMNS } else { at.max(from + 1) };
        let mut before = from - skipped;
        if skipped > 0 {
            shown.insert(0, '…');
            before += 1;
        }
        if cut {
            shown.push('…');
        }
        (shown, before, to.min(last).saturating_sub(from).max(1))
    }
}

/// A character as it is shown.
struct Cell {
    byte: usize,
    shown: String,
    width: usize,
}

fn cells(line: &str) -> Vec<Cell> {
    let mut column = 0;
    let cell = |(byte, c): (usize, char)| {
        let (shown, width) = match c {
            '\t' => {
                let width = TAB - column % TAB;
                (" ".repeat(width), width)
            }
            c if is_deceptive(c) => {
                let shown: String = c.escape_default().collect();
                let width = shown.len();
                (shown, width)
            }
            c => (c.to_string(), width_of(c)),
        };
        column += width;
        Cell { byte, shown, width }
    };
    line.char_indices().map(cell).collect()
}

/// The columns that a terminal gives a character: none for marks on the one before, two for the wide scripts and pictures.
fn width_of(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f
        | 0x0483..=0x0489
        | 0x0591..=0x05bd
        | 0x0610..=0x061a
        | 0x064b..=0x065f
        | 0x093c
        | 0x0941..=0x0948
        | 0x094d
        | 0x0e31
        | 0x0e34..=0x0e3a
        | 0x0e47..=0x0e4e
        | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff
        | 0x20d0..=0x20ff
        | 0xfe00..=0xfe0f
        | 0xfe20..=0xfe2f
        | 0x1f3fb..=0x1f3ff
        | 0xe0100..=0xe01ef => 0,
        0x1100..=0x115f
        | 0x231a..=0x231b
        | 0x23e9..=0x23ec
        | 0x2614..=0x2615
        | 0x2648..=0x2653
        | 0x26a1
        | 0x26bd..=0x26be
        | 0x2705
        | 0x270a..=0x270b
        | 0x2728
        | 0x274c
        | 0x2753..=0x2755
        | 0x2795..=0x2797
        | 0x2b1b..=0x2b1c
        | 0x2b50
        | 0x2e80..=0x303e
        | 0x3041..=0x33ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xa000..=0xa4cf
        | 0xa960..=0xa97f
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x16fe0..=0x18aff
        | 0x1b000..=0x1b2ff
        | 0x1f004
        | 0x1f0cf
        | 0x1f18e
        | 0x1f191..=0x1f19a
        | 0x1f200..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f7e0..=0x1f7eb
        | 0x1f900..=0x1f9ff
        | 0x1fa70..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// `2 errors and 1 warning`
pub(crate) fn counted(errors: usize, warnings: usize) -> String {
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    };
    match (errors, warnings) {
        (errors, 0) => count(errors, "error"),
        (0, warnings) => count(warnings, "warning"),
        (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    }
}

/// A refusal of fields of this text, shown in it; what is left to say is the refusal itself.
pub(crate) fn shown_in(text: &Text, printer: &Printer, mut failure: Failure) -> Failure {
    let Failure::Api { detail, .. } = &mut failure else { return failure };
    if printer.is_json() || detail.fields.is_empty() {
        return failure;
    }
    let findings: Vec<Finding> = std::mem::take(&mut detail.fields)
        .into_iter()
        .map(|field| Finding {
            severity: Severity::Error,
            path: field.path,
            code: field.code,
            message: field.message,
        })
        .collect();
    let page = Page::new(text);
    printer.end_progress();
    printer.page_aside(|colour| page.render(&findings, colour));
    failure
}
