//! Messages that two readers of HTTP/1.1 could end at different places, and what must become of each.

use crate::world::ALICE;

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// No app hears a whole request.
    Refused,
    /// The one that is meant, and then the connection ends.
    OnceAndClosed,
    /// The one that is meant.
    Once,
    /// Everything is the body of the one that is meant, and it never ends.
    NeverEnds,
}
use Fate::{NeverEnds, Once, OnceAndClosed, Refused};

/// Bodies and heads of `POST /attack`, each with a request hidden in or behind it.
pub(crate) fn corpus(world_host: &str) -> Vec<(&'static str, String, Fate)> {
    let hidden =
        format!("GET /smuggled HTTP/1.1\r\nHost: {world_host}\r\nAuthorization: Bearer {ALICE}\r\n\r\n");
    let chunk = format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len());
    let head = format!("POST /attack HTTP/1.1\r\nHost: {world_host}\r\nAuthorization: Bearer {ALICE}\r\n");
    let get = head.replacen("POST", "GET", 1);
    let te = |lines: &str, body: &str| format!("{head}{lines}\r\n\r\n{body}");
    let last = format!("0\r\n\r\n{hidden}");
    let all = hidden.len();
    vec![
        // Two lengths. Our parser drops the one where a coding stands beside it; then nothing may follow.
        ("CL.TE", te("Content-Length: 5\r\nTransfer-Encoding: chunked", &last), OnceAndClosed),
        (
            "CL.TE, length of everything",
            te(&format!("Content-Length: {}\r\nTransfer-Encoding: chunked", all + 5), &last),
            OnceAndClosed,
        ),
        ("TE.CL", te("Transfer-Encoding: chunked\r\nContent-Length: 4", &chunk), OnceAndClosed),
        ("TE.CL, empty", te("Transfer-Encoding: chunked\r\nContent-Length: 5", &last), OnceAndClosed),
        ("TE.CL, zero", te("Transfer-Encoding: chunked\r\nContent-Length: 0", &last), OnceAndClosed),
        (
            "two lengths, different",
            te(&format!("Content-Length: 0\r\nContent-Length: {all}"), &hidden),
            Refused,
        ),
        ("two lengths in one", te(&format!("Content-Length: 0, {all}"), &hidden), Refused),
        ("two lengths, alike, in one", te(&format!("Content-Length: {all}, {all}"), &hidden), Refused),
        ("negative length", te("Content-Length: -1", &hidden), Refused),
        ("plus length", te(&format!("Content-Length: +{all}"), &hidden), Refused),
        ("huge length", te("Content-Length: 18446744073709551616", &hidden), Refused),
        ("nearly huge length", te("Content-Length: 18446744073709551615", &hidden), Refused),
        ("spaced length", te(&format!("Content-Length: {all} 0"), &hidden), Refused),
        ("hexadecimal length", te("Content-Length: 0x10", &hidden), Refused),
        ("fraction length", te("Content-Length: 1.0", &hidden), Refused),
        ("empty length", te("Content-Length:", &hidden), Refused),
        ("underscore length", te("Content-Length: 1_0", &hidden), Refused),
        ("length, space before the colon", te(&format!("Content-Length : {all}"), &hidden), Refused),
        ("length with vertical tab", te("Content-Length: \x0b0", &hidden), Refused),
        ("length with NUL", te("Content-Length: 0\0", &hidden), Refused),
        // Codings that some readers take for chunked.
        ("coding twice", te("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", &last), Refused),
        ("coding twice in one", te("Transfer-Encoding: chunked, chunked", &last), Refused),
        ("identity after", te("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", &last), Refused),
        ("identity before", te("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", &last), Refused),
        ("cow", te("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow", &last), Refused),
        ("xchunked", te("Transfer-Encoding: xchunked", &last), Refused),
        ("quoted", te("Transfer-Encoding: \"chunked\"", &last), Refused),
        ("gzip before", te("Transfer-Encoding: gzip, chunked", &last), Refused),
        ("parameter", te("Transfer-Encoding: chunked;x=1", &last), Refused),
        ("trailing comma", te("Transfer-Encoding: chunked,", &last), Refused),
        ("leading comma", te("Transfer-Encoding: ,chunked", &last), Refused),
        ("identity only", te("Transfer-Encoding: identity", &last), Refused),
        ("coding, space before the colon", te("Transfer-Encoding : chunked", &last), Refused),
        ("coding with vertical tab", te("Transfer-Encoding: \x0bchunked", &last), Refused),
        ("coding with NUL", te("Transfer-Encoding: chunked\0", &last), Refused),
        ("coding folded", te("Transfer-Encoding:\r\n chunked", &last), Refused),
        ("coding folded behind another", te("X: y\r\n Transfer-Encoding: chunked", &last), Refused),
        ("coding behind a bare CR", te("X: y\rTransfer-Encoding: chunked", &last), Refused),
        (
            "coding by Connection",
            te("Connection: transfer-encoding\r\nTransfer-Encoding: chunked", &last),
            OnceAndClosed,
        ),
        ("length by Connection", te("Connection: content-length\r\nContent-Length: 5", "12345"), Once),
        ("upper-case coding", te("TRANSFER-ENCODING: CHUNKED", &last), OnceAndClosed),
        ("behind a coded body", te("Transfer-Encoding: chunked", &last), OnceAndClosed),
        ("behind a coded GET", format!("{get}Transfer-Encoding: chunked\r\n\r\n{last}"), OnceAndClosed),
        // Chunks.
        (
            "chunk size overflow",
            te("Transfer-Encoding: chunked", &format!("10000000000000000\r\n{last}")),
            Refused,
        ),
        (
            "chunk size nearly overflow",
            te("Transfer-Encoding: chunked", &format!("ffffffffffffffff\r\n{last}")),
            NeverEnds,
        ),
        ("chunk size negative", te("Transfer-Encoding: chunked", &format!("-1\r\n{last}")), Refused),
        ("chunk size plus", te("Transfer-Encoding: chunked", &format!("+1\r\nx\r\n{last}")), Refused),
        ("chunk size with 0x", te("Transfer-Encoding: chunked", &format!("0x1\r\nx\r\n{last}")), Refused),
        ("chunk size empty", te("Transfer-Encoding: chunked", &format!("\r\nx\r\n{last}")), Refused),
        ("chunk too long", te("Transfer-Encoding: chunked", &format!("1\r\nxy\r\n{last}")), Refused),
        ("chunk size behind bare LF", te("Transfer-Encoding: chunked", &format!("1\nx\n{last}")), Refused),
        ("chunk without CRLF", te("Transfer-Encoding: chunked", &format!("1\r\nx{last}")), Refused),
        ("extension", te("Transfer-Encoding: chunked", &format!("1;a=b\r\nx\r\n{last}")), OnceAndClosed),
        (
            "extension with bare LF",
            te("Transfer-Encoding: chunked", &format!("1;a=\nb\r\nx\r\n{last}")),
            Refused,
        ),
        (
            "giant extension",
            te("Transfer-Encoding: chunked", &format!("1;{}\r\nx\r\n{last}", "a".repeat(20_000))),
            Refused,
        ),
        (
            "trailer that is a header",
            te(
                "Transfer-Encoding: chunked",
                &format!("1\r\nx\r\n0\r\nHost: evil\r\nX-Gpuaas-Identity: root\r\n\r\n{hidden}"),
            ),
            OnceAndClosed,
        ),
        // Lines.
        (
            // Nobody stands before our parser who could read this differently, and what we write has no bare LF.
            "bare LF head",
            te("Content-Length: 0", "").replacen("\r\n", "\n", 4),
            Once,
        ),
        ("bare CR head", te("Content-Length: 0", &hidden).replacen("\r\n", "\r", 2), Refused),
        ("folded header", te("X: a\r\n b\r\nContent-Length: 0", ""), Refused),
        ("NUL in a value", te("X: a\0b\r\nContent-Length: 0", ""), Refused),
        ("NUL in a name", te("X\0: a\r\nContent-Length: 0", ""), Refused),
        ("no name", te(": a\r\nContent-Length: 0", ""), Refused),
        ("no colon", te("X\r\nContent-Length: 0", ""), Refused),
        ("a space first", format!(" {}", te("Content-Length: 0", "")), Refused),
        ("HTTP/1.0", te("Content-Length: 0", "").replacen("HTTP/1.1", "HTTP/1.0", 1), Refused),
        (
            "HTTP/1.0 coded",
            te("Transfer-Encoding: chunked", &last).replacen("HTTP/1.1", "HTTP/1.0", 1),
            Refused,
        ),
        (
            "HTTP/1.0 kept alive",
            te("Connection: keep-alive\r\nContent-Length: 0", &hidden.replace("1.1", "1.0"))
                .replacen("HTTP/1.1", "HTTP/1.0", 1),
            Refused,
        ),
        ("HTTP/0.9", "GET /attack\r\n\r\n".to_owned(), Refused),
        ("HTTP/2.0 in words", te("Content-Length: 0", "").replacen("HTTP/1.1", "HTTP/2.0", 1), Refused),
        ("HTTP/1.2", te("Content-Length: 0", "").replacen("HTTP/1.1", "HTTP/1.2", 1), Refused),
        ("two versions", te("Content-Length: 0", "").replacen("HTTP/1.1", "HTTP/1.1 HTTP/1.1", 1), Refused),
        ("tabs between", te("Content-Length: 0", "").replacen("POST /", "POST\t/", 1), Refused),
        ("no such method", te("Content-Length: 0", "").replacen("POST", "P(ST", 1), Refused),
        ("TRACE", te("Content-Length: 0", "").replacen("POST", "TRACE", 1), Refused),
        // A body where none is expected.
        ("CL.0 in a GET", format!("{get}Content-Length: {all}\r\n\r\n{hidden}"), Once),
        (
            "h2c",
            format!(
                "{get}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n{hidden}"
            ),
            OnceAndClosed,
        ),
        (
            "some other upgrade",
            format!("{get}Connection: Upgrade\r\nUpgrade: tls/1.2\r\n\r\n{hidden}"),
            OnceAndClosed,
        ),
        ("expects", te(&format!("Expect: 100-continue\r\nContent-Length: {all}"), &hidden), Once),
    ]
}
