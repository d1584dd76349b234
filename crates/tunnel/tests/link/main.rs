//! Both ends on loopback: real sockets, real TLS, certificates made on the spot.

mod abuse;
mod ends;
mod streams;
mod trust;
mod world;
