//! Messages, clients and servers of `emend.v1`, generated from the files beside this crate.
//!
//! The contract is the proto files; read their comments for units, ranges, defaults and errors. Clients in other
//! languages are generated from the same files.

pub mod condition;
pub mod headings;
pub mod place;

/// Version 1 of the contracts.
#[expect(
    clippy::allow_attributes_without_reason,
    clippy::large_enum_variant,
    reason = "generated code; the largest event, a walk's result, comes once a walk"
)]
pub mod v1 {
    tonic::include_proto!("emend.v1");
}

/// The compiled contracts with their comments, for server reflection and for reading names of services.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/emend.v1.bin"));
