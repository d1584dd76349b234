//! The wall clock: for log lines and for the minutes an assertion is good for. Deadlines of orders do not use it; they
//! run on the monotonic clock against the server's time.

pub use gpuaas_program::{Clock, SystemClock};

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
