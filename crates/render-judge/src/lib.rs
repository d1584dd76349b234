//! Tests only: the types of others that judge what `domain` renders. They stand in a crate of their own because those types
//! take long to compile and `domain` is compiled most often.
