//! `emend collections export`.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use emend_core::Deadline;
use emend_proto::v1::ExportCollectionRequest;
use serde::Serialize;

use super::line::{Header, Line, ends};
use super::{Client, MAX_LONG_TIME, described};
use crate::{progress, terminal};

/// Longest line that is read: a part of a document.
pub(super) const MAX_LINE_BYTES: u64 = 256 << 20;

pub(super) async fn run(mut client: Client, name: String, out: Option<PathBuf>, resume: bool) -> Result<ExitCode> {
    let collection = described(&client, &name).await?;
    let header = Header::new(&name, &collection.embedder);
    let (mut output, after) = match &out {
        None => (Output::Standard, String::new()),
        Some(path) if resume && path.exists() => {
            let continued = continued(path, &header);
            let (file, after) = continued.with_context(|| format!("{} cannot be continued", path.display()))?;
            (Output::File(BufWriter::new(file)), after)
        }
        Some(path) => {
            let created = OpenOptions::new().write(true).create_new(true).open(path);
            let created = created.with_context(|| {
                format!(
                    "{} cannot be made; where it is there, --resume goes on with it",
                    path.display()
                )
            })?;
            (Output::File(BufWriter::new(created)), String::new())
        }
    };
    if after.is_empty() {
        output.write(&header)?;
    }
    let request = ExportCollectionRequest {
        collection: name,
        after_document_id: after,
    };
    let request = emend_chassis::request(request, Deadline::after(MAX_LONG_TIME));
    let mut answers = client.export_collection(request).await?.into_inner();
    let bar = progress::documents("exporting", collection.documents);
    let mut documents = 0_u64;
    let sent = async {
        while let Some(answer) = answers.message().await? {
            if answer.embedder != header.embedder {
                bail!("the collection was made again with another embedder meanwhile: export it again");
            }
            let document = answer
                .document
                .context("the retriever sent a part without a document")?;
            output.write(&Line::new(document, answer.last))?;
            if answer.last {
                documents += 1;
                bar.inc(1);
            }
        }
        Ok(())
    }
    .await;
    bar.finish_and_clear();
    // What has arrived is kept: the next export goes on after it.
    output.flush()?;
    sent?;
    terminal::eprintln(format_args!("exported {documents} documents"));
    Ok(ExitCode::SUCCESS)
}

/// Where an export is written.
enum Output {
    Standard,
    File(BufWriter<File>),
}

impl Output {
    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        match self {
            Self::Standard => terminal::print_json(line, false),
            Self::File(file) => {
                serde_json::to_writer(&mut *file, line)?;
                Ok(file.write_all(b"\n")?)
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Standard => Ok(()),
            Self::File(file) => Ok(file.flush()?),
        }
    }
}

/// An export that broke off, cut after its last whole document, and the id of that one.
fn continued(path: &Path, expected: &Header) -> Result<(File, String)> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut reader = BufReader::new(&file);
    let (mut line, mut at, mut keep, mut after) = (Vec::new(), 0, 0, String::new());
    loop {
        line.clear();
        let read = std::io::Read::take(&mut reader, MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        // The last line has no end where the export was cut off in it.
        if read == 0 || line.last() != Some(&b'\n') {
            break;
        }
        if at == 0 {
            let header = Header::read(&line)?;
            if header != *expected {
                bail!(
                    "it is of collection {:?} with embedder {}, asked for is {:?} with {}",
                    header.collection,
                    header.embedder,
                    expected.collection,
                    expected.embedder
                );
            }
        }
        let begins = at == 0;
        at += read as u64;
        if begins {
            keep = at;
        } else if let Some(id) = ends(&line) {
            (keep, after) = (at, id);
        }
    }
    drop(reader);
    let mut file = file;
    // Nothing to go on with: the header is written again.
    file.set_len(if after.is_empty() { 0 } else { keep })?;
    file.seek(SeekFrom::End(0))?;
    Ok((file, after))
}

#[cfg(test)]
mod tests;
