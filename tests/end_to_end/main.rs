//! The six services in one process, over real sockets, from the outside.

mod bad_input;
mod citations;
mod faults;
mod hostile;
mod language_model;
mod languages;
mod llama_cpp;
mod local_model;
mod reasons;
mod walks;
