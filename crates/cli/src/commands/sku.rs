//! What can be allocated, and what it costs.

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::allocations::{GrantPolicy, NewPrice, NewSku, Shape, SkuChange, SkuView};
use gpuaas_domain::Timestamp;

use crate::app::App;
use crate::args::ListLimit;
use crate::failure::{Failure, Result, unexpected};
use crate::{resolve, units};

/// An hour of an allocation.
const HOUR: i64 = 3600;

#[derive(Subcommand)]
pub(crate) enum SkuCommand {
    /// List what can be allocated, with today's prices
    #[command(after_help = "Examples:\n  gpuaas sku list")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one SKU with its whole price book
    #[command(after_help = "Examples:\n  gpuaas sku get gpu-1")]
    Get {
        /// Slug or id
        sku: String,
    },
    /// Offer something new
    #[command(
        after_help = "Examples:\n  gpuaas sku create gpu-1 --shape gpu_slice --gpus 1 --vcpu 4 --memory 16GiB --vendor nvidia --price 1.50 --currency EUR\n  gpuaas sku create cpu-small --shape gpu_slice --vcpu 2 --memory 4096 --grant auto"
    )]
    Create {
        /// Lower-case letters, digits and single hyphens, unique on the platform
        slug: String,
        #[command(flatten)]
        sku: NewSkuArgs,
    },
    /// Rename a SKU, change who grants it, or retire it
    #[command(
        after_help = "Examples:\n  gpuaas sku update gpu-1 --display-name 'One A100'\n  gpuaas sku update gpu-1 --grant auto\n  gpuaas sku update gpu-1 --retire"
    )]
    Update {
        /// Slug or id
        sku: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Add a price that is valid from a moment on
    #[command(
        after_help = "Examples:\n  gpuaas sku price gpu-1 1.50 EUR\n  gpuaas sku price gpu-1 0.0005 EUR --per-units 1\n  gpuaas sku price gpu-1 1.75 EUR --valid-from 2030-01-01T00:00:00Z"
    )]
    Price {
        /// Slug or id
        sku: String,
        /// Exactly this much, with at most six digits after the point
        #[arg(value_parser = units::price_micros)]
        amount: i64,
        /// ISO 4217, such as EUR
        #[arg(value_parser = units::currency)]
        currency: String,
        #[command(flatten)]
        per: Per,
        /// From this moment on (RFC 3339); now unless given
        #[arg(long, value_name = "TIME", value_parser = units::moment)]
        valid_from: Option<Timestamp>,
    },
}

#[derive(Args)]
pub(crate) struct NewSkuArgs {
    /// For people to read; the slug unless given
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// A whole machine, or some of its devices
    #[arg(long, value_parser = ["gpu_slice", "baremetal"])]
    shape: String,
    /// How many GPUs
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=1024))]
    gpus: i64,
    /// How many processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=4096))]
    vcpu: i64,
    /// How much memory: MiB, or an amount such as 16GiB
    #[arg(long, value_name = "MIB", value_parser = units::memory_mib)]
    memory: u32,
    /// Only devices of this vendor
    #[arg(long, value_parser = ["nvidia", "amd"])]
    vendor: Option<String>,
    /// Only devices whose model has exactly this name
    #[arg(long)]
    model: Option<String>,
    /// Who says yes to a request: capacity and limits, or an admin
    #[arg(long, value_parser = ["auto", "admin"], default_value = "admin")]
    grant: String,
    /// The first price, exact to six digits after the point
    #[arg(long, value_name = "AMOUNT", requires = "currency", value_parser = units::price_micros)]
    price: Option<i64>,
    /// ISO 4217, such as EUR
    #[arg(long, requires = "price", value_parser = units::currency)]
    currency: Option<String>,
    #[command(flatten)]
    per: Per,
}

/// What a price is for.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Per {
    /// The price is for an hour of the allocation, which is so unless told otherwise
    #[arg(long)]
    per_hour: bool,
    /// The price is for this many seconds of the allocation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1_000_000_000))]
    per_units: Option<i64>,
}

impl Per {
    fn units(&self) -> i64 {
        self.per_units.unwrap_or(HOUR)
    }
}

#[derive(Args)]
#[group(required = true, multiple = true)]
pub(crate) struct ChangeArgs {
    /// The new display name
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// Who says yes to a request: capacity and limits, or an admin
    #[arg(long, value_parser = ["auto", "admin"])]
    grant: Option<String>,
    /// Offer it no more; what is allocated stays
    #[arg(long)]
    retire: bool,
    /// Offer it again
    #[arg(long, conflicts_with = "retire")]
    unretire: bool,
}

fn new_price(amount_micros: i64, currency: String, per: &Per, valid_from: Option<Timestamp>) -> NewPrice {
    NewPrice {
        amount_micros,
        currency,
        per_units: per.units(),
        unit: "allocation_seconds".into(),
        valid_from,
    }
}

fn new_sku(slug: String, args: NewSkuArgs) -> Result<NewSku> {
    let price = args.price.zip(args.currency).map(|(amount, code)| new_price(amount, code, &args.per, None));
    let vendor = args.vendor.map(serde_json::Value::String);
    Ok(NewSku {
        slug,
        display_name: args.display_name,
        shape: Shape::parse(&args.shape).ok_or_else(|| Failure::usage("there is no such shape"))?,
        gpu_count: args.gpus,
        gpu_vendor: vendor.map(serde_json::from_value).transpose().map_err(|source| unexpected(&source))?,
        gpu_model: args.model,
        vcpu: args.vcpu,
        memory_mib: args.memory.into(),
        grant_policy: policy(&args.grant)?,
        price,
    })
}

fn policy(name: &str) -> Result<GrantPolicy> {
    GrantPolicy::parse(name).ok_or_else(|| Failure::usage("a request is granted by auto or admin"))
}

pub(crate) async fn run(app: &App, command: SkuCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        SkuCommand::List { limit } => {
            printer.list::<SkuView>(&session.list(Route::SkuList, &[], &(), limit.get()).await?)
        }
        SkuCommand::Get { sku } => {
            let slug = session.sku(&sku).await?;
            printer.facts::<SkuView>(&session.read(Route::SkuGet, &[&slug]).await?)
        }
        SkuCommand::Create { slug, sku } => {
            resolve::slug("sku", &slug).map_err(|_| {
                Failure::usage(format!("{slug:?} cannot be a slug"))
                    .fix("use lower-case letters, digits and single hyphens")
            })?;
            let body = new_sku(slug.clone(), sku)?;
            printer.facts::<SkuView>(&session.write(Route::SkuCreate, &[], &body).await?)?;
            printer.note(&format!(
                "Offered {slug}. Projects ask for it with: gpuaas allocation request --sku {slug}"
            ));
            Ok(())
        }
        SkuCommand::Update { sku, change } => {
            let slug = session.sku(&sku).await?;
            let body = SkuChange {
                display_name: change.display_name,
                grant_policy: change.grant.as_deref().map(policy).transpose()?,
                retired: (change.retire || change.unretire).then_some(change.retire),
            };
            printer.facts::<SkuView>(&session.write(Route::SkuUpdate, &[&slug], &body).await?)?;
            printer.note(&format!("Changed {slug}."));
            Ok(())
        }
        SkuCommand::Price { sku, amount, currency, per, valid_from } => {
            let slug = session.sku(&sku).await?;
            let body = new_price(amount, currency, &per, valid_from);
            printer.facts::<SkuView>(&session.write(Route::SkuPriceAdd, &[&slug], &body).await?)?;
            printer.note(&format!("Added a price to {slug}."));
            Ok(())
        }
    }
}
