//! The command tree as a whole.

use clap::FromArgMatches as _;

use crate::args::Cli;
use crate::command;

mod findings;
pub(crate) mod samples;
mod views;

/// Every leaf, as people type it. A line that goes is a script that breaks: add, never remove.
const TREE: &str = "\
allocation deny
allocation get
allocation grant
allocation list
allocation release
allocation request
app catalog
app deprecate
app diff
app form
app get
app init
app list
app move
app publish
app register
app release
app validate
app versions
artifact deprecate
artifact get
artifact list
artifact promote
artifact publish-intent
artifact pull-intent
artifact register
artifact retire
artifact revoke
artifact verify
audit list
audit verify
completion
context list
context remove
context set-project
context set-tenant
context show
context use
doctor
endpoint expose
endpoint token-create
endpoint token-list
endpoint token-revoke
entitlement disable
entitlement enable
entitlement list
event follow
event list
instance create
instance decommission
instance events
instance forward
instance get
instance list
instance logs
instance plan
instance receipt
instance start
instance stats
instance stop
key add
key generate
key list
key revoke
login
logout
node cordon
node drain
node forget
node get
node join-token create
node list
node revoke
node rotate-task-key
node uncordon
open
port-forward
preset delete
preset get
preset list
preset save
project bind
project bindings
project create
project delete
project get
project limits
project list
project rename
project resume
project set-limit
project suspend
project unbind
registry credential list
registry credential revoke
registry info
registry login
registry visibility
render
role bind
role bindings
role create
role delete
role get
role list
role permissions
role unbind
role update
service-account create
service-account delete
service-account disable
service-account get
service-account list
service-account rotate-key
service-account token
service-account unwrap
sku create
sku get
sku list
sku price
sku update
tenant bind
tenant bindings
tenant create
tenant delete
tenant get
tenant limits
tenant list
tenant rename
tenant resume
tenant set-limit
tenant suspend
tenant unbind
token create
token list
token revoke
user create
user delete
user get
user list
user reset-password
user resume
user suspend
user update
volume create
volume delete
volume get
volume list
whoami";

fn leaves(command: &clap::Command, path: &str, out: &mut Vec<(String, clap::Command)>) {
    let subcommands: Vec<_> = command.get_subcommands().filter(|sub| sub.get_name() != "help").collect();
    if subcommands.is_empty() {
        out.push((path.to_owned(), command.clone()));
    }
    for sub in subcommands {
        let path =
            if path.is_empty() { sub.get_name().to_owned() } else { format!("{path} {}", sub.get_name()) };
        leaves(sub, &path, out);
    }
}

fn all_leaves() -> Vec<(String, clap::Command)> {
    let mut found = Vec::new();
    leaves(&command(), "", &mut found);
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

#[test]
fn the_command_tree_is_sound_and_complete() {
    command().debug_assert();
    let names: Vec<_> = all_leaves().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.join("\n"), TREE);
}

#[test]
fn every_command_says_what_it_does_and_shows_an_example() {
    for (name, command) in all_leaves() {
        assert!(command.get_about().is_some(), "{name} says nothing about itself");
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let example = format!("gpuaas {name}");
        assert!(
            help.starts_with("Examples:\n") && help.contains(&example),
            "{name} has no example of itself"
        );
    }
    let root = command().get_after_help().map(ToString::to_string).unwrap_or_default();
    assert!(root.contains("Exit codes:"));
}

fn parse(line: &str) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(line.split_whitespace())?;
    Cli::from_arg_matches(&matches)
}

/// P-01: the line that a launch form ends with is one that this program understands, with every option there is.
#[test]
fn the_line_of_a_form_is_understood() {
    let golden = include_str!("../../domain/src/launch_form/tests/sample.json");
    let form: serde_json::Value = serde_json::from_str(golden).unwrap();
    let line = form["command"].as_str().unwrap();
    let more = "--name mine --gpus 1 --cpu 4500m --memory 6000 --host-port 9001 --variant cpu --set n=3 --set text=a=b";
    for line in [line.to_owned(), format!("{line} {more}")] {
        let parsed = parse(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(matches!(
            parsed.command,
            crate::args::Command::Instance(crate::commands::instance::InstanceCommand::Create { .. })
        ));
    }
}

#[test]
fn lines_that_people_type_are_understood() {
    for line in [
        "gpuaas login --url http://localhost:8080 --email a@b --password-stdin --context x --ca-file ca.pem",
        "gpuaas login --admin-file admin.json",
        "gpuaas -o json tenant list",
        "gpuaas tenant list -o json --correlation-id abc-1",
        "gpuaas tenant set-limit acme projects 3",
        "gpuaas tenant bind acme --role tenant-admin --user ada@example.org",
        "gpuaas project bind lab --role app --service-account 0190-x",
        "gpuaas project create lab --tenant acme",
        "gpuaas project get",
        "gpuaas service-account create ci --role a --role b --key-file k.json --project lab",
        "gpuaas service-account token --key-file k.json --ttl-seconds 60",
        "gpuaas service-account unwrap",
        "gpuaas audit list --project lab --actor x --action y --object z --limit 5",
        "gpuaas audit verify --stream all",
        "gpuaas event follow --platform --after 0",
        "gpuaas context set-project --none",
        "gpuaas completion zsh",
        "gpuaas user delete a@b --yes --reason gone",
        "gpuaas tenant list -o text",
        "gpuaas node join-token create --name gpu-1 --expires-in 1h",
        "gpuaas node revoke gpu-1 --reason stolen -y",
        "gpuaas sku create s --shape gpu_slice --gpus 1 --vcpu 2 --memory 4096 --vendor nvidia --model A100 --grant auto --price 1.50 --currency EUR --per-hour",
        "gpuaas sku price s 0.000001 eur --per-units 60 --valid-from 2030-01-01T00:00:00Z",
        "gpuaas sku update s --retire",
        "gpuaas allocation list --all --state requested",
        "gpuaas allocation request --sku s --name a --note why --wait --timeout 30s",
        "gpuaas allocation release a --wait --yes",
        "gpuaas app register -",
        "gpuaas app validate ./hello --deny-warnings -o json",
        "gpuaas app init",
        "gpuaas app init notebook ./mine",
        "gpuaas app init --list",
        "gpuaas app diff hello@1.0.0 ./hello --exit-code",
        "gpuaas app publish ./hello --project lab --visibility tenant --key k.pem --lock l.yaml --release --entitle --reason r",
        "gpuaas app release hello 1.0.0 --reason reviewed",
        "gpuaas artifact list --app hello --visible --limit 3",
        "gpuaas artifact register h/a@sha256:0 --tag t --variant cpu --source a=b --source c=d",
        "gpuaas artifact promote 0123 --channel dev --reason r --project lab",
        "gpuaas artifact publish-intent hello --visibility platform --expires-in 10m --docker-config d",
        "gpuaas artifact pull-intent hello@sha256:0123 --expires-in 1h",
        "gpuaas key generate --out k.pem",
        "gpuaas key add k --public k.pub --valid-until 2030-01-01T00:00:00Z --platform",
        "gpuaas key revoke k --reason lost --project lab",
        "gpuaas registry login --docker-config d --expires-in-days 7",
        "gpuaas registry visibility hello tenant",
        "gpuaas registry credential revoke 0190-x --reason leaked",
        "gpuaas app move hello 1.0.0 --to canary --reason try",
        "gpuaas entitlement enable hello --tenant acme --version 1.0.0 --version 1.0.1 --channel canary",
        "gpuaas instance create hello --allocation a --version 1.0.0 --name n --gpus 1 --cpu 1.5 --memory 2GiB --host-port 20000 --set a=1 --set b=x --plan-digest sha256:0 --wait --timeout 5m",
        "gpuaas instance create hello --allocation a --no-wait",
        "gpuaas instance list --status failed --app hello --allocation a --all",
        "gpuaas instance logs n -f --tail 10 --since 10m --component web",
        "gpuaas instance decommission n --force --reason gone --no-wait",
        "gpuaas port-forward n --port 8080 --local-port 9000 --address 127.0.0.1 --project lab",
    ] {
        assert!(
            parse(line).is_ok(),
            "{line}: {}",
            parse(line).err().map_or_else(String::new, |error| error.to_string())
        );
    }
    for line in [
        "gpuaas",
        "gpuaas tenant",
        "gpuaas tenant bind acme --role r",
        "gpuaas tenant bind acme --role r --user a --service-account b",
        "gpuaas audit list --tenant a --project b",
        "gpuaas audit list --all --limit 3",
        "gpuaas audit verify --expect-head nonsense",
        "gpuaas service-account create ci",
        "gpuaas service-account create ci --role a --wrapped --key-file k",
        "gpuaas service-account token --key-file k --ttl-seconds 901",
        "gpuaas service-account unwrap - --key-file k",
        "gpuaas token create x --expires-in-days 91",
        "gpuaas tenant list -o yaml",
        "gpuaas tenant list --correlation-id a\u{7f}b",
        "gpuaas completion powershell",
        "gpuaas node join-token create --expires-in soon",
        "gpuaas sku create s --shape gpu_slice --vcpu 2 --memory 4096 --price 1.50",
        "gpuaas sku create s --shape gpu_slice --vcpu 2 --memory 4GB",
        "gpuaas sku create s --shape cube --vcpu 2 --memory 4096",
        "gpuaas sku update s",
        "gpuaas sku update s --retire --unretire",
        "gpuaas sku price s 1,50 EUR",
        "gpuaas sku price s 1.50 EUR --per-hour --per-units 60",
        "gpuaas allocation list --all --project lab",
        "gpuaas allocation deny a",
        "gpuaas app move hello 1.0.0 --to nowhere",
        "gpuaas app init rocket",
        "gpuaas app diff hello@1.0.0",
        "gpuaas app publish hello 1.0.0",
        "gpuaas app publish hello --entitle",
        "gpuaas app publish hello --visibility world",
        "gpuaas artifact register h/a@sha256:0 --source x",
        "gpuaas key add k --public a --key b",
        "gpuaas key add k --project lab --platform",
        "gpuaas key revoke k",
        "gpuaas registry visibility hello",
        "gpuaas entitlement enable hello --tenant a --project b",
        "gpuaas instance create hello",
        "gpuaas instance create hello --allocation a --cpu lots",
        "gpuaas instance create hello --allocation a --host-port 80",
        "gpuaas instance decommission n --force",
        "gpuaas instance logs n --since yesterday",
        "gpuaas port-forward n --port 0",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn completion_scripts_can_be_made_for_every_shell() {
    for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command(), "gpuaas", &mut script);
        assert!(script.len() > 1000);
    }
}
