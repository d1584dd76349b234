//! The wall clock: for log lines and for the minutes an assertion is good for. Deadlines of orders do not use it; they
//! run on the monotonic clock against the server's time.

use gpuaas_domain::Timestamp;

/// Where "now" comes from. A parameter, so that tests can move it.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    fn now(&self) -> Timestamp {
        let since_1970 =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since_1970.as_micros()).expect("the year is below 292 000");
        Timestamp::from_unix_micros(micros).expect("the present is representable")
    }
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; N];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// So many random bytes, as text that fits a header, a path or a user name.
pub(crate) fn random_text<const N: usize>() -> String {
    gpuaas_agent_protocol::image::hex(&random::<N>())
}
