//! Kinds of files that are not read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

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
            Self::LongLine => ("line that is too long", "lines that are too long"),
            Self::Unreadable => ("unreadable file", "unreadable files"),
            Self::Other => ("other file", "other files"),
        };
        if count == 1 { one } else { many }
    }
}

/// How many files of each kind, with their extensions: `12 images (.jpg, .png), 3 archives (.zip)`.
pub fn summary(skipped: &[Skipped]) -> String {
    let mut kinds: BTreeMap<FileKind, (usize, BTreeSet<String>)> = BTreeMap::new();
    for file in skipped {
        let (count, extensions) = kinds.entry(file.kind).or_default();
        *count += 1;
        // A line's number comes behind the file's name.
        let name = match (file.kind, file.source.rsplit_once(':')) {
            (FileKind::LongLine, Some((name, _))) => name,
            _ => &file.source,
        };
        extensions.extend(emend_documents::extension(name));
    }
    let described = kinds.into_iter().map(|(kind, (count, extensions))| {
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
        format!("{count} {}{list}", kind.name(count))
    });
    described.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
