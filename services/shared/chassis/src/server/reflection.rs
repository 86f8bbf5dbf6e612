//! gRPC reflection in its two versions: clients that know only `v1alpha` are still about.

use tonic::service::Routes;
use tonic_reflection::pb;
use tonic_reflection::server::{Builder, Error};

use super::MAX_PROBE_BYTES;

/// Adds both versions of reflection. Each tells these encoded descriptor sets, health, and both of them.
///
/// # Errors
/// One of the sets is no `FileDescriptorSet`.
pub(super) fn add(routes: Routes, descriptors: &[Vec<u8>]) -> Result<Routes, Error> {
    let own = [
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        pb::v1::FILE_DESCRIPTOR_SET,
        pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    let builder = || {
        let sets = own.into_iter().chain(descriptors.iter().map(Vec::as_slice));
        sets.fold(
            Builder::configure().include_reflection_service(false),
            Builder::register_encoded_file_descriptor_set,
        )
    };
    let (v1, v1alpha) = (builder().build_v1()?, builder().build_v1alpha()?);
    Ok(routes
        .add_service(v1.max_decoding_message_size(MAX_PROBE_BYTES))
        .add_service(v1alpha.max_decoding_message_size(MAX_PROBE_BYTES)))
}
