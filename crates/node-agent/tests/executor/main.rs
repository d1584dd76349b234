//! The executor as a whole, on the simulated engine and on the real one.

mod admission;
mod docker;
mod hostile;
mod identity;
mod lifecycle;
mod matrix;
mod support;
mod volumes;
