//! Kinds of files that are not read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
};

use serde::{Serialize, Serializer};

use super::Skipped;

/// Most extensions of a kind that a summary names.
const MAX_EXTENSIONS: usize = 6;

/// What kind of file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// Pictures and drawings.
    Image,
    /// Archives and packages of software.
    Archive,
    /// Sound.
    Audio,
    /// Films.
    Video,
    /// Typefaces.
    Font,
    /// Programs, libraries and what a compiler made.
    Program,
    /// Databases and weights of models.
    Data,
    /// Symbolic links in a folder.
    Link,
    /// Pipes, devices and sockets.
    Special,
    /// Addresses that a sitemap names and that are not fetched.
    Address,
    /// Lines of JSON Lines that are too long to be a document.
    LongLine,
    /// Files that could not be opened or are not what they should be.
    Unreadable,
    /// Everything else that is not text.
    Other,
}

impl FileKind {
    /// The kind of a file by its extension.
    pub(super) fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match emend_documents::extension(&name).unwrap_or_default().as_str() {
            "png" | "jpg" | "jpeg" | "gif" | "bmp" | "tif" | "tiff" | "webp" | "ico" | "icns" | "heic" | "avif"
            | "svg" | "psd" | "ai" | "eps" | "xcf" => Self::Image,
            "zip" | "tar" | "gz" | "tgz" | "bz2" | "xz" | "zst" | "7z" | "rar" | "jar" | "war" | "whl" | "deb"
            | "rpm" | "iso" | "dmg" | "apk" | "crate" => Self::Archive,
            "mp3" | "wav" | "flac" | "ogg" | "opus" | "m4a" | "aac" | "mid" => Self::Audio,
            "mp4" | "mov" | "avi" | "mkv" | "webm" | "wmv" | "m4v" => Self::Video,
            "ttf" | "otf" | "ttc" | "woff" | "woff2" | "eot" => Self::Font,
            "exe" | "dll" | "so" | "dylib" | "o" | "obj" | "a" | "lib" | "class" | "pyc" | "wasm" | "bin" => {
                Self::Program
            }
            "sqlite" | "sqlite3" | "db" | "mdb" | "parquet" | "npy" | "npz" | "onnx" | "gguf" | "safetensors"
            | "pt" | "pkl" => Self::Data,
            _ => Self::Other,
        }
    }

    /// Its name in JSON.
    fn key(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Archive => "archive",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Font => "font",
            Self::Program => "program",
            Self::Data => "data",
            Self::Link => "link",
            Self::Special => "special",
            Self::Address => "address",
            Self::LongLine => "long_line",
            Self::Unreadable => "unreadable",
            Self::Other => "other",
        }
    }

    fn name(self, count: usize) -> &'static str {
        let (one, many) = match self {
            Self::Image => ("image", "images"),
            Self::Archive => ("archive", "archives"),
            Self::Audio => ("sound file", "sound files"),
            Self::Video => ("video", "videos"),
            Self::Font => ("font", "fonts"),
            Self::Program => ("program file", "program files"),
            Self::Data => ("data file", "data files"),
            Self::Link => ("symbolic link", "symbolic links"),
            Self::Special => ("pipe or device", "pipes and devices"),
            Self::Address => ("address", "addresses"),
            Self::LongLine => ("line that is too long", "lines that are too long"),
            Self::Unreadable => ("unreadable file", "unreadable files"),
            Self::Other => ("other file", "other files"),
        };
        if count == 1 { one } else { many }
    }
}

/// How many files of each kind there are, with their extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(BTreeMap<FileKind, (usize, BTreeSet<String>)>);

impl Kinds {
    /// Counts another file or line.
    fn add(&mut self, skipped: &Skipped) {
        let (count, extensions) = self.0.entry(skipped.kind).or_default();
        *count += 1;
        // A line's number comes behind the file's name.
        let name = match (skipped.kind, skipped.source.rsplit_once(':')) {
            (FileKind::LongLine, Some((name, _))) => name,
            _ => &skipped.source,
        };
        if skipped.kind == FileKind::Address {
            return;
        }
        if let Some(extension) = emend_documents::extension(name)
            && extensions.len() <= MAX_EXTENSIONS
        {
            extensions.insert(extension);
        }
    }
}

impl<'a> FromIterator<&'a Skipped> for Kinds {
    fn from_iter<I: IntoIterator<Item = &'a Skipped>>(skipped: I) -> Self {
        let mut kinds = Self::default();
        skipped.into_iter().for_each(|skipped| kinds.add(skipped));
        kinds
    }
}

/// `12 images (.jpg, .png), 3 archives (.zip)`.
impl fmt::Display for Kinds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let described = self.0.iter().map(|(kind, (count, extensions))| {
            let mut shown: Vec<String> = extensions
                .iter()
                .take(MAX_EXTENSIONS)
                .map(|e| format!(".{e}"))
                .collect();
            if extensions.len() > MAX_EXTENSIONS {
                shown.push("…".to_owned());
            }
            let list = if shown.is_empty() {
                String::new()
            } else {
                format!(" ({})", shown.join(", "))
            };
            format!("{count} {}{list}", kind.name(*count))
        });
        formatter.write_str(&described.collect::<Vec<_>>().join(", "))
    }
}

/// `{"image": 12, "archive": 3}`.
impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(kind, (count, _))| (kind.key(), count)))
    }
}

/// How many files of each kind, with their extensions.
pub fn summary(skipped: &[Skipped]) -> String {
    skipped.iter().collect::<Kinds>().to_string()
}

#[cfg(test)]
mod tests;
