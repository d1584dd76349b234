//! The API through its front door, on both databases.

mod forged_tokens;
mod hostile_input;
mod idempotency;
