//! Documents that are archives of parts: Office Open XML, OpenDocument, EPUB.

use std::io::{Cursor, Read};

use zip::{ZipArchive, result::ZipError};

use crate::{
    bounds::{Bounds, MAX_MARKUP_BYTES, MAX_PARTS, MAX_UNPACKED_BYTES},
    error::DocumentError,
    format::Format,
    xml,
};

/// The part that says what an OpenDocument or EPUB package is, and the most bytes of it that are looked at.
const MIMETYPE: &str = "mimetype";
const MAX_MIMETYPE_BYTES: u64 = 256;
/// Bytes that are unpacked at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// An archive of parts.
pub(crate) struct Package<'b> {
    archive: ZipArchive<Cursor<&'b [u8]>>,
}

impl<'b> Package<'b> {
    pub(crate) fn open(bytes: Cursor<&'b [u8]>) -> Result<Self, ZipError> {
        ZipArchive::new(bytes).map(|archive| Self { archive })
    }

    /// Opens a package whose parts are within the limits.
    pub(crate) fn within_bounds(format: Format, bytes: &'b [u8], bounds: Bounds<'_>) -> Result<Self, DocumentError> {
        let mut package = Self::open(Cursor::new(bytes)).map_err(|error| broken(format, &error))?;
        package.check(format, bounds)?;
        Ok(package)
    }

    /// The format by the parts that are in it.
    pub(crate) fn format(&mut self) -> Option<Format> {
        if let Ok(part) = self.archive.by_name(MIMETYPE) {
            let mut kind = String::new();
            part.take(MAX_MIMETYPE_BYTES).read_to_string(&mut kind).ok()?;
            let kind = kind.trim();
            let of = |name: &str| kind.strip_prefix("application/vnd.oasis.opendocument.") == Some(name);
            return if kind == "application/epub+zip" {
                Some(Format::Epub)
            } else if of("text") || of("text-template") {
                Some(Format::Odt)
            } else if of("spreadsheet") || of("spreadsheet-template") {
                Some(Format::Ods)
            } else if of("presentation") || of("presentation-template") {
                Some(Format::Odp)
            } else {
                None
            };
        }
        let has = |folder: &str| {
            self.archive
                .file_names()
                .any(|name| name.is_ok_and(|name| name.starts_with(folder)))
        };
        if !has("[Content_Types].xml") {
            None
        } else if has("word/") {
            Some(Format::Docx)
        } else if has("ppt/") {
            Some(Format::Pptx)
        } else if has("xl/") {
            Some(Format::Xlsx)
        } else {
            None
        }
    }

    /// Unpacks every part once, without keeping it: what an archive says of its sizes need not be true. Markup of Office
    /// documents is looked through, because their readers go down into it by recursion.
    fn check(&mut self, format: Format, bounds: Bounds<'_>) -> Result<(), DocumentError> {
        if self.archive.len() > MAX_PARTS {
            return Err(DocumentError::TooMany {
                what: "parts",
                limit: MAX_PARTS,
            });
        }
        let (mut unpacked, mut markup) = (0_usize, 0_usize);
        let mut buffer = vec![0; BUFFER_BYTES];
        for index in 0..self.archive.len() {
            let mut part = self.archive.by_index(index).map_err(|error| broken(format, &error))?;
            let name = part
                .name()
                .map_err(|error| broken(format, &error))?
                .to_ascii_lowercase();
            let is_markup = [".xml", ".rels", ".html", ".xhtml", ".htm", ".opf"]
                .iter()
                .any(|extension| name.ends_with(extension));
            let mut kept = Vec::new();
            loop {
                let read = part.read(&mut buffer).map_err(|error| broken(format, &error))?;
                if read == 0 {
                    break;
                }
                unpacked += read;
                if unpacked > MAX_UNPACKED_BYTES {
                    return Err(DocumentError::Unpacked {
                        limit: MAX_UNPACKED_BYTES,
                    });
                }
                if is_markup {
                    markup += read;
                    if markup > MAX_MARKUP_BYTES {
                        return Err(DocumentError::Unpacked {
                            limit: MAX_MARKUP_BYTES,
                        });
                    }
                    kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
                }
                bounds.check("")?;
            }
            let is_office = matches!(format, Format::Docx | Format::Pptx | Format::Xlsx);
            if is_office && is_markup {
                xml::walk(format, &String::from_utf8_lossy(&kept), bounds, |_| Ok(()))?;
            }
        }
        Ok(())
    }

    /// The text of a part; none if there is no such part.
    pub(crate) fn text(&mut self, format: Format, name: &str) -> Result<Option<String>, DocumentError> {
        let part = match self.archive.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(broken(format, &error)),
        };
        let mut bytes = Vec::new();
        let limit = MAX_MARKUP_BYTES as u64;
        part.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| broken(format, &error))?;
        Ok(Some(crate::encoding::decode(&bytes)?.into_owned()))
    }
}

fn broken(format: Format, error: &dyn std::error::Error) -> DocumentError {
    DocumentError::Broken {
        format,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests;
