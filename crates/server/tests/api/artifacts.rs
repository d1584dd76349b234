//! Artifacts.
