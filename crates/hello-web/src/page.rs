//! The page and the JSON, as functions from facts to text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::Facts;

const TEMPLATE: &str = include_str!("page.html");
const SIMULATED: &str = "<p class=\"notice\" role=\"note\"><strong>Simulated GPUs.</strong> \
    This node declares GPUs that do not exist. Nothing here is computed on a GPU.</p>";

pub(crate) fn home(facts: &Facts) -> String {
    let instance = facts.config.instance_id.as_deref().unwrap_or("none: started outside the platform");
    fill(&[
        ("title", "Hello from your instance"),
        ("lead", "Your app is running. This page is served by it, through the platform, to you."),
        ("notice", if facts.config.gpus_simulated { SIMULATED } else { "" }),
        ("instance", &escape(instance)),
        ("hostname", &escape(&facts.hostname)),
        ("uptime", &uptime(facts.started.elapsed())),
    ])
}

pub(crate) fn not_found() -> &'static str {
    "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" \
     content=\"width=device-width\"><title>Not found</title></head>\n<body><main><h1>There is no such page</h1>\
     <p><a href=\"./\">Go to the start page</a></p></main></body>\n</html>\n"
}

pub(crate) fn env_json(shown: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        shown.iter().map(|(name, value)| format!("{}:{}", json_text(name), json_text(value))).collect();
    format!("{{{}}}\n", pairs.join(","))
}

/// One pass over the template, so that a value which looks like a mark stays what it is.
fn fill(values: &[(&str, &str)]) -> String {
    let mut parts = TEMPLATE.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("every mark of the template is closed");
        let (_, value) = values.iter().find(|(known, _)| *known == name).expect("every mark has a value");
        text.push_str(value);
        text.push_str(rest);
    }
    text
}

fn uptime(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (days, hours, minutes, rest) =
        (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest} s"),
        (0, 0, _) => format!("{minutes} min {rest} s"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (_, _, _) => format!("{days} d {hours} h"),
    }
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

pub(crate) fn json_text(text: &str) -> String {
    let mut safe = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => safe.push_str("\\\""),
            '\\' => safe.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(control));
            }
            other => safe.push(other),
        }
    }
    safe.push('"');
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_stays_text() {
        assert_eq!(escape("<b a='1'>\"&"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;");
        assert_eq!(json_text("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
        let shown = BTreeMap::from([
            ("GPUAAS_A".to_owned(), "1".to_owned()),
            ("GPUAAS_B".to_owned(), "\"".to_owned()),
        ]);
        assert_eq!(env_json(&shown), "{\"GPUAAS_A\":\"1\",\"GPUAAS_B\":\"\\\"\"}\n");
        assert_eq!(env_json(&BTreeMap::new()), "{}\n");
    }

    #[test]
    fn uptime_reads_well() {
        let said = |seconds| uptime(Duration::from_secs(seconds));
        assert_eq!(
            [said(5), said(65), said(3700), said(90_000)],
            ["5 s", "1 min 5 s", "1 h 1 min", "1 d 1 h"]
        );
    }
}
