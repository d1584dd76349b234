//! The registry over a real socket, on real files, with real clients.

mod clients;
mod conformance;
mod doors;
mod faults;
mod garbage;
mod limits;
mod process;
mod protocol;
mod world;
