//! Calls with bytes in the place of messages.

use emend_chassis::TracedChannel;
use emend_core::Deadline;
use emend_tests::PATIENCE;
use futures::TryStreamExt as _;
use prost::bytes::{Buf as _, BufMut as _};
use tonic::{
    Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
};

#[derive(Clone, Copy, Debug, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, message: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

/// Sends messages and reads all answers.
pub(super) async fn call(channel: TracedChannel, path: &str, sent: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Status> {
    let mut client = Grpc::new(channel).max_decoding_message_size(64 << 20);
    client
        .ready()
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let request = emend_chassis::request(futures::stream::iter(sent), Deadline::after(PATIENCE));
    let path: PathAndQuery = path.parse().unwrap();
    let answers = client.streaming(request, path, Raw).await?;
    answers.into_inner().try_collect().await
}
