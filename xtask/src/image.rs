//! `image build` and `image push`: one static program in an image made from nothing, without an engine.
//!
//! The image holds the program and the files that programs look for, no shell and no package. It runs as the user
//! `nonroot`, 65532, as the well-known images without a distribution do.

use std::path::PathBuf;

use clap::{Args, Parser};
use gpuaas_oci::{Image, ImageBuilder, Registry};

use crate::Result;

const USER: &str = "65532:65532";
const PASSWD: &str = "root:x:0:0:root:/:/nologin\nnonroot:x:65532:65532:nonroot:/:/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

#[derive(Parser)]
#[command(name = "cargo xtask image", about = "Makes an image of one static program")]
enum Command {
    /// Write the image as a tar file that is an OCI layout and can be read by `docker load`
    Build {
        #[command(flatten)]
        program: Program,
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
        /// The repository:tag it gets when loaded
        #[arg(long)]
        name: Option<String>,
    },
    /// Push the image to a registry and print its digest
    Push {
        #[command(flatten)]
        program: Program,
        /// Address of the registry, such as http://127.0.0.1:5000
        #[arg(long)]
        registry: String,
        /// Where in the registry, such as apps/hello-web
        #[arg(long)]
        repository: String,
        /// A tag beside the digest
        #[arg(long)]
        tag: Option<String>,
    },
}

#[derive(Args)]
struct Program {
    /// The program: statically linked, because there is nothing else in the image
    #[arg(long)]
    binary: PathBuf,
    /// The port it listens on
    #[arg(long, default_value_t = 8080)]
    port: u16,
}

pub(crate) fn run(words: &[&str]) -> Result {
    let command = match Command::try_parse_from(["image"].iter().chain(words)) {
        Ok(command) => command,
        Err(help) if !help.use_stderr() => {
            print!("{help}");
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
    };
    match command {
        Command::Build { program, output, name } => {
            let image = image_of(&program)?;
            std::fs::write(&output, image.to_archive(name.as_deref()))
                .map_err(|error| format!("cannot write {}: {error}", output.display()))?;
            println!("{}", image.digest());
            Ok(())
        }
        Command::Push { program, registry, repository, tag } => {
            push(&image_of(&program)?, &registry, &repository, tag.as_deref())
        }
    }
}

fn push(image: &Image, registry: &str, repository: &str, tag: Option<&str>) -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let pushed = runtime
        .block_on(async { Registry::new(registry)?.push(repository, image, tag).await })
        .map_err(|error| with_cause(&error))?;
    println!("{}", pushed.digest);
    Ok(())
}

fn with_cause(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn image_of(program: &Program) -> Result<Image> {
    let Program { binary, port } = program;
    let shown = binary.display();
    let bytes = std::fs::read(binary).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let architecture = check_elf(&bytes).map_err(|why| format!("{shown} {why}"))?;
    let name = binary.file_name().unwrap_or_default().to_string_lossy();
    let path = format!("/{name}");
    ImageBuilder::new(architecture)
        .file(&path, 0o755, bytes)
        .file("/etc/passwd", 0o644, PASSWD)
        .file("/etc/group", 0o644, GROUP)
        .dir("/tmp", 0o1777)
        .user(USER)
        .entrypoint([path.as_str()])
        .exposed_port(*port)
        .label("org.opencontainers.image.title", &name)
        .build()
        .map_err(|error| error.to_string())
}

/// The architecture of a static program for Linux. A dynamic one would fail in the image with "no such file", which
/// helps nobody.
fn check_elf(bytes: &[u8]) -> std::result::Result<&'static str, &'static str> {
    const INTERPRETER: u64 = 3;
    // A 64-bit little-endian file header is 64 bytes.
    if bytes.len() < 64 || !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err("is no 64-bit Linux program");
    }
    let number = |at: usize, size: usize| {
        let bytes = bytes.get(at..)?.get(..size)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let broken = "is a broken program file";
    let header = |at, size| number(at, size).and_then(|number| usize::try_from(number).ok()).ok_or(broken);
    let (table, entry_size, entries) = (header(32, 8)?, header(54, 2)?, header(56, 2)?);
    for entry in 0..entries {
        let at = entry.checked_mul(entry_size).and_then(|offset| offset.checked_add(table)).ok_or(broken)?;
        if number(at, 4).ok_or(broken)? == INTERPRETER {
            return Err("is linked dynamically; build it with RUSTFLAGS='-C target-feature=+crt-static'");
        }
    }
    match number(18, 2) {
        Some(0x3e) => Ok("amd64"),
        Some(0xb7) => Ok("arm64"),
        _ => Err("is for a machine we do not know"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file header with one program header of the given kind.
    fn elf(machine: u8, kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[18], bytes[32], bytes[54], bytes[56], bytes[64]) = (machine, 64, 56, 1, kind);
        bytes
    }

    #[test]
    fn only_static_programs_go_in() {
        assert_eq!(check_elf(&elf(0x3e, 1)), Ok("amd64"));
        assert_eq!(check_elf(&elf(0xb7, 1)), Ok("arm64"));
        assert!(check_elf(&elf(0x3e, 3)).unwrap_err().contains("dynamically"));
        assert!(check_elf(&elf(0x28, 1)).is_err());
        assert!(check_elf(b"#!/bin/sh\n").is_err());
        assert!(check_elf(&elf(0x3e, 1)[..100]).is_ok());
        assert!(check_elf(&elf(0x3e, 1)[..64]).unwrap_err().contains("broken"));
        let mut far = elf(0x3e, 1);
        far[32..40].copy_from_slice(&[0xff; 8]);
        assert!(check_elf(&far).unwrap_err().contains("broken"));
    }

    #[test]
    fn options_are_named_when_they_are_missing() {
        let error = run(&["push", "--registry", "http://127.0.0.1:9"]).unwrap_err();
        assert!(error.contains("--repository") && error.contains("--binary"), "{error}");
    }
}
