//! Amounts as people type and read them: money, processors, memory, spans of time. Nothing here goes through a float,
//! so that what was typed is what is sent.

use std::time::Duration;

use gpuaas_api::allocations::Price;
use gpuaas_domain::Timestamp;
pub(crate) use gpuaas_domain::text::cpus;

const MICROS: u64 = 1_000_000;
/// What the platform takes at most, in millionths.
const MAX_PRICE_MICROS: u64 = 1_000_000_000_000_000;
const HOUR_SECONDS: i64 = 3600;

/// `whole.fraction` as an integer of `10^-places`. `None` unless it is exactly that.
fn decimal(text: &str, places: usize) -> Option<u64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = match text.split_once('.') {
        None => (text, ""),
        Some((whole, fraction)) if digits(fraction) && fraction.len() <= places => (whole, fraction),
        Some(_) => return None,
    };
    if !digits(whole) {
        return None;
    }
    // Moving the point is writing zeros.
    format!("{whole}{fraction:0<places$}").parse().ok()
}

/// Money in millionths: `1.50` is 1 500 000.
pub(crate) fn price_micros(text: &str) -> Result<i64, String> {
    if text.contains(',') {
        return Err("write a point between whole and part, such as 1.50".to_owned());
    }
    decimal(text, 6)
        .filter(|micros| *micros <= MAX_PRICE_MICROS)
        .and_then(|micros| i64::try_from(micros).ok())
        .ok_or_else(|| "use an amount such as 1.50, with at most six digits after the point".to_owned())
}

pub(crate) fn currency(text: &str) -> Result<String, String> {
    let code = text.to_ascii_uppercase();
    if code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(code);
    }
    Err("use the three letters of ISO 4217, such as EUR".to_owned())
}

/// Processors in thousandths: `1.5` and `1500m` are the same.
pub(crate) fn cpu_millis(text: &str) -> Result<u32, String> {
    let millis = match text.strip_suffix('m') {
        Some(millis) => decimal(millis, 0),
        None => decimal(text, 3),
    };
    millis
        .filter(|millis| *millis > 0)
        .and_then(|millis| u32::try_from(millis).ok())
        .ok_or_else(|| "use processors such as 2 or 1.5, or thousandths such as 1500m".to_owned())
}

/// Memory in MiB: `2048`, `2048MiB` and `2GiB` are the same.
pub(crate) fn memory_mib(text: &str) -> Result<u32, String> {
    let lower = text.to_ascii_lowercase();
    let end = lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(lower.len());
    let (amount, unit) = lower.split_at(end);
    let factor = match unit {
        "" | "mib" | "mi" => 1,
        "gib" | "gi" => 1024,
        "tib" | "ti" => 1024 * 1024,
        "mb" | "gb" | "tb" | "m" | "g" | "t" => {
            return Err("write MiB, GiB or TiB: 1 GiB is 1024 MiB".to_owned());
        }
        _ => return Err("use MiB such as 2048, or an amount such as 2GiB".to_owned()),
    };
    decimal(amount, 0)
        .and_then(|amount| amount.checked_mul(factor))
        .filter(|mib| *mib > 0)
        .and_then(|mib| u32::try_from(mib).ok())
        .ok_or_else(|| "use whole MiB such as 2048, or an amount such as 2GiB".to_owned())
}

/// A span of time: `90s`, `10m`, `1h30m`, `2d`, or plain seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let refuse = || "use a span of time such as 90s, 10m, 1h30m or 2d".to_owned();
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let mut seconds = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
        let amount: u64 = rest[..end].parse::<u32>().map_err(|_| refuse())?.into();
        let mut units = rest[end..].chars();
        seconds += amount
            * match units.next() {
                Some('s') => 1,
                Some('m') => 60,
                Some('h') => 3600,
                Some('d') => 86400,
                _ => return Err(refuse()),
            };
        rest = units.as_str();
    }
    if seconds == 0 { Err(refuse()) } else { Ok(Duration::from_secs(seconds)) }
}

/// A moment: RFC 3339.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|_| "use a moment such as 2026-01-31T12:00:00Z".to_owned())
}

/// When to begin: a moment, or a span of time before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Ago(Duration),
    At(Timestamp),
}

impl Since {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        duration(text).map(Self::Ago).or_else(|_| moment(text).map(Self::At)).map_err(|_| {
            "use a span of time such as 10m, or a moment such as 2026-01-31T12:00:00Z".to_owned()
        })
    }

    pub(crate) fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(span) => now.plus_seconds(-i64::try_from(span.as_secs()).unwrap_or(i64::MAX)),
        }
    }
}

/// `key=value`. The value is JSON if it reads as JSON, and text otherwise: quote it to send digits as text.
pub(crate) fn setting(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "write it as name=value".to_owned())?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

/// At least two digits after the point, and no more than it takes.
pub(crate) fn money(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let (whole, part) = (micros.unsigned_abs() / MICROS, micros.unsigned_abs() % MICROS);
    let part = format!("{part:06}");
    let kept = part.trim_end_matches('0').len().max(2);
    format!("{sign}{whole}.{}", &part[..kept])
}

pub(crate) fn price(price: &Price) -> String {
    let per = match (price.unit.as_str(), price.per_units) {
        ("allocation_seconds", HOUR_SECONDS) => "hour".to_owned(),
        ("allocation_seconds", 1) => "second".to_owned(),
        ("allocation_seconds", seconds) => format!("{seconds} seconds"),
        (unit, units) => format!("{units} {unit}"),
    };
    format!("{} {} per {per}", money(price.amount_micros), price.currency)
}

/// In the largest unit that leaves something before the point, with one digit after it.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scale = 1_u64;
    let mut unit = "B";
    for larger in UNITS {
        if bytes / scale < 1024 {
            break;
        }
        (scale, unit) = (scale * 1024, larger);
    }
    if scale == 1 {
        return format!("{bytes} B");
    }
    // 128 bits, because ten times a byte count may not fit into 64.
    let tenths = (u128::from(bytes) * 10 + u128::from(scale / 2)) / u128::from(scale);
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

pub(crate) fn mib(mib: i64) -> String {
    bytes(u64::try_from(mib).unwrap_or(0).saturating_mul(1024 * 1024))
}

pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact() {
        for (text, micros) in [
            ("1.50", 1_500_000),
            ("0.000001", 1),
            ("0.1", 100_000),
            ("12", 12_000_000),
            ("0", 0),
            ("1000000000", 1_000_000_000_000_000),
            ("19.999999", 19_999_999),
        ] {
            assert_eq!(price_micros(text), Ok(micros), "{text}");
            assert_eq!(price_micros(&money(micros)), Ok(micros), "{text} comes back");
        }
        for text in
            ["", ".5", "1.", "1,50", "-1", "+1", "1e3", "0.0000001", "1000000000.000001", " 1", "1.5.0"]
        {
            assert!(price_micros(text).is_err(), "{text:?}");
        }
        assert_eq!(
            (money(1_500_000), money(1), money(-250_000)),
            ("1.50".into(), "0.000001".into(), "-0.25".into())
        );
        assert_eq!(currency("eur"), Ok("EUR".into()));
        assert!(currency("EURO").is_err() && currency("E1R").is_err());
    }

    #[test]
    fn processors_and_memory() {
        for (text, millis) in [("1.5", 1500), ("1500m", 1500), ("2", 2000), ("0.001", 1), ("4096", 4_096_000)]
        {
            assert_eq!(cpu_millis(text), Ok(millis), "{text}");
        }
        for text in ["", "0", "0m", "m", "1.5m", "0.0001", "-1", "1 ", "two", "99999999"] {
            assert!(cpu_millis(text).is_err(), "{text:?}");
        }
        for (text, mib) in
            [("2048", 2048), ("2GiB", 2048), ("2gi", 2048), ("512MiB", 512), ("1TiB", 1_048_576)]
        {
            assert_eq!(memory_mib(text), Ok(mib), "{text}");
        }
        for text in ["", "0", "GiB", "1.5GiB", "2GB", "2g", "2 GiB", "-1", "99999999TiB", "1KiB"] {
            assert!(memory_mib(text).is_err(), "{text:?}");
        }
        assert!(memory_mib("2GB").unwrap_err().contains("GiB"));
        assert_eq!(
            (cpus(1500), cpus(2000), cpus(250), cpus(0)),
            ("1.5".into(), "2".into(), "0.25".into(), "0".into())
        );
        assert_eq!((mib(512), mib(2048), mib(0)), ("512.0 MiB".into(), "2.0 GiB".into(), "0 B".into()));
        assert_eq!(mib(1216), "1.2 GiB");
    }

    #[test]
    fn bytes_keep_one_digit() {
        for (count, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (u64::MAX, "16384.0 PiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn spans_and_moments() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172_800)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "10", "0s", "1x", "h1", "-5m", "10 m", "1.5h", "99999999999d"] {
            assert_eq!(duration(text).is_ok(), text == "10", "{text:?}");
        }
        let now = moment("2026-01-31T12:00:00Z").unwrap();
        assert_eq!(Since::parse("10m").unwrap().moment(now), moment("2026-01-31T11:50:00Z").unwrap());
        assert_eq!(Since::parse("2026-01-31T13:00:00+01:00").unwrap().moment(now), now);
        assert!(Since::parse("yesterday").is_err());
        let shown: Vec<_> = [5, 65, 3600].map(Duration::from_secs).map(span).into();
        assert_eq!(shown, ["5 s", "1 min 5 s", "1 h 0 min"]);
    }

    #[test]
    fn settings_are_json_where_they_read_as_json() {
        for (text, value) in [
            ("n=3", serde_json::json!(3)),
            ("on=true", serde_json::json!(true)),
            ("model=llama-3", serde_json::json!("llama-3")),
            ("tag=\"3\"", serde_json::json!("3")),
            ("q=a=b", serde_json::json!("a=b")),
            ("empty=", serde_json::json!("")),
        ] {
            assert_eq!(setting(text).unwrap().1, value, "{text}");
        }
        assert!(setting("novalue").is_err() && setting("=x").is_err());
    }
}
