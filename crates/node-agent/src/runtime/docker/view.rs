//! What Docker says, in our words.

use bollard::container::LogOutput;
use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum, ContainerStatsResponse, Network};
use gpuaas_agent_protocol::link::{ComponentStats, LogLine};

use crate::runtime::labels::Labels;
use crate::runtime::{ContainerView, NetworkView, State, network_name};

pub(super) fn container(found: ContainerInspectResponse) -> Option<ContainerView> {
    let labels = Labels::from_map(&found.config?.labels?)?;
    let state = found.state?;
    let network = network_name(labels.instance);
    let address = found
        .network_settings
        .and_then(|settings| settings.networks)
        .and_then(|networks| networks.get(&network)?.ip_address.clone())
        .and_then(|address| address.parse().ok());
    let started_at = state.started_at.as_deref().and_then(micros).filter(|at| *at > 0);
    let running = state.running.unwrap_or(false);
    Some(ContainerView {
        id: found.id?,
        name: found.name?.trim_start_matches('/').to_owned(),
        labels,
        pid: state.pid.filter(|pid| *pid > 0),
        started_at,
        address,
        state: if running {
            State::Running
        } else if state.status == Some(ContainerStateStatusEnum::CREATED) || started_at.is_none() {
            State::Created
        } else {
            State::Exited {
                code: state.exit_code.unwrap_or(-1),
                out_of_memory: state.oom_killed.unwrap_or(false),
                error: state.error.unwrap_or_default(),
            }
        },
    })
}

pub(super) fn network(found: Network) -> Option<NetworkView> {
    let labels = Labels::from_map(&found.labels?)?;
    let subnet =
        found.ipam.and_then(|ipam| ipam.config?.into_iter().find_map(|config| config.subnet?.parse().ok()));
    Some(NetworkView { name: found.name?, labels, subnet })
}

/// RFC 3339 in UTC, as the engine writes it, to microseconds since 1970.
pub(super) fn micros(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let fraction: i64 = format!("{fraction:0<6.6}").parse().ok()?;
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + fraction)
}

/// Days since 1970 of a date in the Gregorian calendar; March is the first month, so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Lines of one piece of output; each starts with its time, because we ask for that.
pub(super) fn log_lines(component: &str, output: &LogOutput) -> Vec<LogLine> {
    let stream = match output {
        LogOutput::StdErr { .. } => "stderr",
        LogOutput::StdOut { .. } | LogOutput::StdIn { .. } | LogOutput::Console { .. } => "stdout",
    };
    let text = String::from_utf8_lossy(output.as_ref());
    text.lines()
        .map(|line| {
            let (at, line) = match line.split_once(' ').map(|(at, rest)| (micros(at), rest)) {
                Some((Some(at), rest)) => (at, rest),
                _ => (0, line),
            };
            LogLine { component: component.to_owned(), stream: stream.to_owned(), at, line: line.to_owned() }
        })
        .collect()
}

pub(super) fn stats(component: &str, found: &ContainerStatsResponse) -> ComponentStats {
    let usage = |stats: Option<&bollard::models::ContainerCpuStats>| {
        stats.map_or((0, 0, 1), |stats| {
            (
                stats.cpu_usage.as_ref().and_then(|usage| usage.total_usage).unwrap_or(0),
                stats.system_cpu_usage.unwrap_or(0),
                u64::from(stats.online_cpus.unwrap_or(1)),
            )
        })
    };
    let (cpu, system, cpus) = usage(found.cpu_stats.as_ref());
    let (cpu_before, system_before, _) = usage(found.precpu_stats.as_ref());
    let passed = system.saturating_sub(system_before);
    let cpu_millis =
        (cpu.saturating_sub(cpu_before)).saturating_mul(cpus * 1000).checked_div(passed).unwrap_or(0);
    let memory = found.memory_stats.as_ref();
    let cache = memory.and_then(|memory| {
        let stats = memory.stats.as_ref()?;
        stats.get("total_inactive_file").or_else(|| stats.get("inactive_file")).copied()
    });
    let (rx, tx) = found.networks.iter().flatten().fold((0, 0), |(rx, tx), (_, network)| {
        (rx + network.rx_bytes.unwrap_or(0), tx + network.tx_bytes.unwrap_or(0))
    });
    ComponentStats {
        name: component.to_owned(),
        cpu_millis,
        memory_bytes: memory.and_then(|memory| memory.usage).unwrap_or(0).saturating_sub(cache.unwrap_or(0)),
        memory_limit_bytes: memory.and_then(|memory| memory.limit).unwrap_or(0),
        pids: found.pids_stats.as_ref().and_then(|pids| pids.current).unwrap_or(0),
        network_rx_bytes: rx,
        network_tx_bytes: tx,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_times_are_read_to_the_microsecond() {
        assert_eq!(micros("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(micros("2024-02-29T12:34:56.123456789Z"), Some(1_709_210_096_123_456));
        assert_eq!(micros("2000-03-01T00:00:00.5Z"), Some(951_868_800_500_000));
        assert!(micros("0001-01-01T00:00:00Z").unwrap() < 0, "the engine's word for never");
        for text in ["", "2024-02-29", "2024-02-29T12:34:56", "xT0:0:0Z"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_of_the_log_keeps_its_time_and_stream() {
        let output =
            LogOutput::StdErr { message: "1970-01-01T00:00:01Z hello world\n".as_bytes().to_vec().into() };
        let lines = log_lines("main", &output);
        assert_eq!(
            (lines[0].at, lines[0].stream.as_str(), lines[0].line.as_str()),
            (1_000_000, "stderr", "hello world")
        );
    }
}
