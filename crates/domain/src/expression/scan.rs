//! One pass over an expression before the parser sees it.
//!
//! It finds where an expression in `${…}` ends, and it bounds length, parts and nesting: the parser and everything after
//! it work by recursion, and a stack that overflows ends the process. It also refuses the spellings that we leave out, so
//! that this pass and the parser cannot see two different texts: the only quotes are `'…'` and `"…"`, and there are no
//! comments.

use super::fault::{Code, Fault, Span};

/// Longer ones are programs; also the bound of the manifest's schema.
pub const MAX_BYTES: usize = 1024;
/// Names, literals, signs. A chain of operators is a tree as deep as it is long, so this bounds the recursion too.
pub const MAX_TOKENS: usize = 256;
/// Brackets in brackets. The parser takes about 12 KiB of stack for each.
pub const MAX_NESTING: usize = 16;

/// How many names, literals and signs an expression has: what the parser's work grows with.
pub(crate) fn tokens(text: &str) -> Result<usize, Fault> {
    run(text, 0, false).map(|(_, tokens)| tokens)
}

/// Where the expression that begins at `start` ends: at the brace that closes it if it is `enclosed`, else with the text.
pub(super) fn end(text: &str, start: usize, enclosed: bool) -> Result<usize, Fault> {
    run(text, start, enclosed).map(|(end, _)| end)
}

fn run(text: &str, start: usize, enclosed: bool) -> Result<(usize, usize), Fault> {
    let mut scan = Scan { text, at: start, open: Vec::new(), tokens: 0, last: Last::Start };
    while let Some(c) = text[scan.at..].chars().next() {
        if c == '}' && enclosed {
            return scan.finish(start);
        }
        scan.token(c)?;
        if scan.at - start > MAX_BYTES {
            let message = format!("An expression has at most {MAX_BYTES} bytes.");
            return Err(Fault::new(Code::TooLarge, Span::new(start, scan.at), message));
        }
    }
    if enclosed {
        let message = "The expression is not closed: a } is missing.";
        return Err(Fault::new(Code::Syntax, Span::new(start, text.len()), message));
    }
    scan.finish(start)
}

/// What stood before, as far as it decides what may follow.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Start,
    /// A sign between values.
    Sign,
    /// `!`, or `-` before a value.
    Prefix,
    Word,
    Number,
    Text,
    Closed,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    open: Vec<(char, usize)>,
    tokens: usize,
    last: Last,
}

impl Scan<'_> {
    fn finish(self, start: usize) -> Result<(usize, usize), Fault> {
        if let Some((_, at)) = self.open.last() {
            return Err(self.syntax(*at, 1, "This bracket is not closed."));
        }
        if self.tokens == 0 {
            return Err(Fault::new(Code::Syntax, Span::new(start, self.at), "There is no expression here."));
        }
        Ok((self.at, self.tokens))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn syntax(&self, at: usize, length: usize, message: &str) -> Fault {
        Fault::new(Code::Syntax, Span::new(at, (at + length).min(self.text.len())), message)
    }

    fn not_allowed(&self, length: usize, message: &str) -> Fault {
        Fault::new(Code::NotAllowed, Span::new(self.at, (self.at + length).min(self.text.len())), message)
    }

    fn token(&mut self, first: char) -> Result<(), Fault> {
        if matches!(first, ' ' | '\t' | '\n' | '\r') {
            self.at += 1;
            return Ok(());
        }
        self.tokens += 1;
        if self.tokens > MAX_TOKENS {
            let message = format!("An expression has at most {MAX_TOKENS} names, values and signs.");
            return Err(Fault::new(Code::TooLarge, Span::new(self.at, self.at + first.len_utf8()), message));
        }
        match first {
            'a'..='z' | 'A'..='Z' | '_' => self.word(),
            '0'..='9' => self.number(),
            '\'' | '"' => return self.quoted(first),
            '(' | '[' => return self.opening(first),
            ')' | ']' => return self.closing(first),
            '-' | '!' => return self.prefix(first),
            _ => return self.sign(first),
        }
        Ok(())
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        length
    }

    fn word(&mut self) {
        let start = self.at;
        self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        self.last = if &self.text[start..self.at] == "in" { Last::Sign } else { Last::Word };
    }

    fn number(&mut self) {
        self.take(|c| c.is_ascii_alphanumeric());
        let rest = self.rest().as_bytes();
        if rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.take(|c| c.is_ascii_alphanumeric());
        }
        self.last = Last::Number;
    }

    /// To the quote that ends it: what is inside is not looked at, braces least of all.
    fn quoted(&mut self, quote: char) -> Result<(), Fault> {
        let before = self.text[..self.at].chars().next_back();
        let touches = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        if touches && matches!(self.last, Last::Word | Last::Number) {
            return Err(self.not_allowed(1, "Text stands in quotes alone, without r or b before them."));
        }
        if self.last == Last::Text && matches!(before, Some('\'' | '"')) {
            return Err(self.not_allowed(1, "Text stands in one pair of quotes; a sign stands between two."));
        }
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == quote => {
                    self.at += offset + 1;
                    self.last = Last::Text;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.syntax(self.at, 1, "This quote is not closed."))
    }

    fn opening(&mut self, bracket: char) -> Result<(), Fault> {
        if self.open.len() >= MAX_NESTING {
            let message = format!("At most {MAX_NESTING} brackets stand in each other.");
            return Err(Fault::new(Code::TooLarge, Span::new(self.at, self.at + 1), message));
        }
        self.open.push((bracket, self.at));
        self.at += 1;
        self.last = Last::Sign;
        Ok(())
    }

    fn closing(&mut self, bracket: char) -> Result<(), Fault> {
        let wanted = if bracket == ')' { '(' } else { '[' };
        match self.open.pop() {
            Some((opened, _)) if opened == wanted => {
                self.at += 1;
                self.last = Last::Closed;
                Ok(())
            }
            Some(_) | None => Err(self.syntax(self.at, 1, "This bracket closes none that is open.")),
        }
    }

    /// The parser drops pairs of these, whatever stands behind them; so there are no pairs.
    fn prefix(&mut self, sign: char) -> Result<(), Fault> {
        if self.rest().starts_with("!=") {
            self.at += 2;
            self.last = Last::Sign;
            return Ok(());
        }
        let between =
            sign == '-' && matches!(self.last, Last::Word | Last::Number | Last::Text | Last::Closed);
        if !between && self.last == Last::Prefix {
            return Err(self.not_allowed(1, "Write ! or - once before a value."));
        }
        self.at += 1;
        self.last = if between { Last::Sign } else { Last::Prefix };
        Ok(())
    }

    fn sign(&mut self, first: char) -> Result<(), Fault> {
        let rest = self.rest();
        let two = rest.get(..2).unwrap_or_default();
        match (first, two) {
            (_, "//") => return Err(self.not_allowed(2, "Expressions have no comments.")),
            (_, "&&" | "||" | "==" | "<=" | ">=") => self.at += 2,
            ('.' | ',' | '?' | ':' | '+' | '*' | '/' | '%' | '<' | '>', _) => self.at += 1,
            ('=', _) => return Err(self.syntax(self.at, 1, "Compare with ==.")),
            ('&' | '|', _) => return Err(self.syntax(self.at, 1, "Use && for and, || for or.")),
            ('$', _) => {
                return Err(self.syntax(self.at, 1, "Write the expression without ${ } around or in it."));
            }
            ('{' | '}', _) => {
                return Err(
                    self.not_allowed(1, "There are no maps and objects; use a list, or ?: to choose.")
                );
            }
            ('`', _) => {
                return Err(self.not_allowed(1, "Write a name with other characters as [\"the-name\"]."));
            }
            _ => {
                let message = "This character is no part of an expression; text stands in quotes.";
                return Err(self.syntax(self.at, first.len_utf8(), message));
            }
        }
        self.last = Last::Sign;
        Ok(())
    }
}
