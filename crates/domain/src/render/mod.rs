//! From a profile and a launch's bindings to what an engine is given. Rendering is serialising: values go into typed
//! fields, never into text that is parsed again.

pub mod container;
