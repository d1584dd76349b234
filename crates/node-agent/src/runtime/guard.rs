//! What workloads may reach from their bridges, by the node's packet filter.
//!
//! Into the node: the instance API, and answers to what the node asked. Through the node: the internet where a network
//! has that way out, never a private range (other instances, the operator's machines, cloud metadata). The rules live in
//! chains of our own. An agent takes away only what was its own, so several can share a node.

use std::process::Stdio;

use tokio::process::Command;

/// As it stands on the path.
pub const PROGRAM: &str = "iptables";
/// What an operator reads who has switched it off.
pub const OFF: &str = "The packet filter is off: workloads may reach this node and whatever it reaches.";

const INPUT: &str = "GPUAAS-INPUT";
const FORWARD: &str = "GPUAAS-FORWARD";
/// Every bridge of ours; `+` is the packet filter's own wild card.
const BRIDGES: &str = "gpuaas-+";
/// Private ranges, and where clouds answer for their machines.
const PRIVATE: &[&str] = &[
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "168.63.129.16/32",
    "192.0.0.0/24",
    "198.18.0.0/15",
    "224.0.0.0/3",
];

pub struct Guard {
    range: String,
    instance_api_port: u16,
    program: String,
}

impl Guard {
    /// For networks out of this range, whose gateway addresses have the instance API on this port.
    pub fn new(range: &str, instance_api_port: u16, program: &str) -> Self {
        Self { range: range.to_owned(), instance_api_port, program: program.to_owned() }
    }

    /// Puts every rule in place that is missing. The error is a sentence for the operator.
    pub async fn ensure(&self) -> Result<(), String> {
        // Looking and adding are two calls: one at a time, or a rule stands twice.
        static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let _turn = TURN.lock().await;
        self.chain(INPUT).await?;
        self.chain(FORWARD).await?;
        let port = self.instance_api_port.to_string();
        let api = ["-d", &self.range, "-p", "tcp", "--dport", &port, "-j", "ACCEPT"];
        let answers = ["-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "RETURN"];
        let bridged = ["-m", "physdev", "--physdev-is-bridged", "-j", "RETURN"];
        // What lets through goes before what refuses, whatever stood there before.
        self.rule(INPUT, Place::Last, &["-j", "REJECT"]).await?;
        self.remove_former(&port).await?;
        self.rule(INPUT, Place::First, &api).await?;
        self.rule(INPUT, Place::First, &answers).await?;
        for range in PRIVATE {
            self.rule(FORWARD, Place::Last, &["-d", range, "-j", "DROP"]).await?;
        }
        self.rule(FORWARD, Place::First, &bridged).await?;
        self.rule(FORWARD, Place::First, &answers).await?;
        self.rule("INPUT", Place::First, &["-i", BRIDGES, "-j", INPUT]).await?;
        self.rule("DOCKER-USER", Place::First, &["-i", BRIDGES, "-j", FORWARD]).await
    }

    /// Ways in that this range had on another port, and those from before ways had a range.
    async fn remove_former(&self, port: &str) -> Result<(), String> {
        for line in self.run(&["-S", INPUT]).await?.lines().filter(|line| line.ends_with("-j ACCEPT")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let after = |word: &str| words.iter().skip_while(|w| **w != word).nth(1).copied();
            let ours = after("-d").is_none_or(|range| range == self.range);
            if words.first() == Some(&"-A") && ours && after("--dport") != Some(port) {
                self.run(&[&["-D"], &words[1..]].concat()).await?;
            }
        }
        Ok(())
    }

    async fn chain(&self, name: &str) -> Result<(), String> {
        if self.run(&["-n", "-L", name]).await.is_ok() {
            return Ok(());
        }
        match self.run(&["-N", name]).await {
            // Another agent of this node was faster.
            Err(said) if !said.contains("exists") => Err(said),
            _ => Ok(()),
        }
    }

    async fn rule(&self, chain: &str, place: Place, rule: &[&str]) -> Result<(), String> {
        if self.run(&[&["-C", chain], rule].concat()).await.is_ok() {
            return Ok(());
        }
        let verb = match place {
            Place::First => "-I",
            Place::Last => "-A",
        };
        self.run(&[&[verb, chain], rule].concat()).await.map(drop)
    }

    async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(&self.program)
            .args(["-w", "10"])
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| {
                format!(
                    "The packet filter cannot be set, so workloads may reach the node: {}: {error}.",
                    self.program
                )
            })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "The packet filter cannot be set, so workloads may reach the node: {} {}: {}",
            self.program,
            arguments.join(" "),
            said.trim()
        ))
    }
}

#[derive(Clone, Copy)]
enum Place {
    First,
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_packet_filter_is_said_not_swallowed() {
        let problem = Guard::new("10.213.0.0/16", 7075, "/nowhere/iptables").ensure().await.unwrap_err();
        assert!(
            problem.contains("workloads may reach the node") && problem.contains("/nowhere/iptables"),
            "{problem}"
        );
        let problem = Guard::new("10.213.0.0/16", 7075, "/bin/false").ensure().await.unwrap_err();
        assert!(problem.contains("/bin/false -N GPUAAS-INPUT"), "{problem}");
    }
}
