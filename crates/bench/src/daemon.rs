//! Other programs that serve, as processes on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::process::cpu_seconds;

pub(crate) const NGINX: &str = "/usr/sbin/nginx";
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A process that serves, killed when dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// Starts it and waits until it listens.
    pub(crate) fn start(command: &mut Command, address: SocketAddr) -> Result<Self> {
        let mut daemon = Self::spawn(command, address)?;
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = daemon.child.try_wait()? {
                return Err(format!("{} ended at once: {status}", command.get_program().display()).into());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("{} does not listen", command.get_program().display()).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(daemon)
    }

    pub(crate) fn spawn(command: &mut Command, address: SocketAddr) -> Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, address })
    }

    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(self.child.id())
    }
}

pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Round by round, so that a busy moment is in both.
pub(crate) fn over(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}
