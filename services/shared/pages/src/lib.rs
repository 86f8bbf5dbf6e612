//! Fetches pages of the web: within bounds of time and size, from public addresses, as `robots.txt` allows.
#![warn(missing_docs)]

mod address;
mod domains;
mod fetch;
pub mod http;
mod robots;
pub mod sitemap;

pub use address::{Lookup, system_lookup};
pub use domains::{Domain, DomainError, DomainFilter};
pub use fetch::{ClientError, Fetched, PageError, PageFetcher, PageSettings};
