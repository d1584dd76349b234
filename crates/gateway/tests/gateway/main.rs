//! The gateway's transport on real sockets: a front with the server's own limits, apps that write down every byte they get,
//! and clients that say whatever they like. What is proved is what the apps have *heard*, not what the gateway meant.

mod answers;
mod app;
mod client;
mod corpus;
mod entering;
mod fuzz;
mod hosts;
mod http2;
mod limits;
mod refusals;
mod smuggling;
mod sockets;
mod streams;
mod wire;
mod world;
