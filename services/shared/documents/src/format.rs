//! The formats that are read, and how a file's format is found out.

use std::fmt;

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text without markup that is looked at: prose, source code, configuration, logs, XML.
    PlainText,
    /// Markdown.
    Markdown,
    /// HTML and XHTML.
    Html,
    /// PDF.
    Pdf,
    /// Word 2007 and newer.
    Docx,
    /// PowerPoint 2007 and newer.
    Pptx,
    /// Excel 2007 and newer.
    Xlsx,
    /// Word 6.0 to 2003.
    Doc,
    /// PowerPoint 97 to 2003.
    Ppt,
    /// Excel up to 2003.
    Xls,
    /// OpenDocument text.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
    /// OpenDocument presentation.
    Odp,
    /// EPUB.
    Epub,
    /// An e-mail message, RFC 5322 with MIME.
    Email,
    /// Rows of values separated by commas, semicolons, tabs or bars.
    Csv,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PlainText => "plain text",
            Self::Markdown => "Markdown",
            Self::Html => "HTML",
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
            Self::Pptx => "PPTX",
            Self::Xlsx => "XLSX",
            Self::Doc => "DOC",
            Self::Ppt => "PPT",
            Self::Xls => "XLS",
            Self::Odt => "ODT",
            Self::Ods => "ODS",
            Self::Odp => "ODP",
            Self::Epub => "EPUB",
            Self::Email => "e-mail",
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
        })
    }
}

/// All formats, in the order of their numbers.
const ALL: [Format; 19] = [
    Format::PlainText,
    Format::Markdown,
    Format::Html,
    Format::Pdf,
    Format::Docx,
    Format::Pptx,
    Format::Xlsx,
    Format::Doc,
    Format::Ppt,
    Format::Xls,
    Format::Odt,
    Format::Ods,
    Format::Odp,
    Format::Epub,
    Format::Email,
    Format::Csv,
    Format::Json,
    Format::Yaml,
    Format::Toml,
];

impl Format {
    /// A number that stands for it within one build of the program.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    /// The format of a number.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        ALL.get(usize::from(number)).copied()
    }

    /// The format that the extension of a file's name or of an address stands for. Source code and other plain text has
    /// too many extensions: those are told by the content.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match extension(name)?.as_str() {
            "txt" | "text" | "log" | "rst" | "adoc" | "org" | "tex" | "xml" => Self::PlainText,
            "md" | "markdown" | "mdx" | "mkd" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "pdf" => Self::Pdf,
            "docx" | "docm" | "dotx" => Self::Docx,
            "pptx" | "pptm" | "ppsx" | "potx" => Self::Pptx,
            "xlsx" | "xlsm" | "xltx" => Self::Xlsx,
            "doc" | "dot" => Self::Doc,
            "ppt" | "pps" => Self::Ppt,
            "xls" | "xlt" => Self::Xls,
            "odt" | "ott" => Self::Odt,
            "ods" | "ots" => Self::Ods,
            "odp" | "otp" => Self::Odp,
            "epub" => Self::Epub,
            "eml" => Self::Email,
            "csv" | "tsv" | "tab" => Self::Csv,
            "json" | "geojson" | "jsonc" => Self::Json,
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            _ => return None,
        })
    }

    /// Whether a file of this format is not text by its bytes.
    pub fn is_binary(self) -> bool {
        matches!(
            self,
            Self::Pdf
                | Self::Docx
                | Self::Pptx
                | Self::Xlsx
                | Self::Doc
                | Self::Ppt
                | Self::Xls
                | Self::Odt
                | Self::Ods
                | Self::Odp
                | Self::Epub
        )
    }

    /// Whether a file of this format is an archive of parts.
    pub(crate) fn is_package(self) -> bool {
        self.is_binary() && !matches!(self, Self::Pdf | Self::Doc | Self::Ppt | Self::Xls)
    }
}

/// The extension of the last part of a path or an address, in lower case.
pub fn extension(name: &str) -> Option<String> {
    let (stem, extension) = file_name(name).rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_ascii_lowercase())
}

/// The last part of a path or an address without its extension; empty if there is none.
pub fn stem(name: &str) -> &str {
    let name = file_name(name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

fn file_name(name: &str) -> &str {
    // An address may go on after the file's name.
    let name = if name.contains("://") {
        name.split(['?', '#']).next().unwrap_or(name)
    } else {
        name
    };
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
