//! A table that is being read.

/// The cells of a table by rows.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    captions: Vec<String>,
    has_header: bool,
}

impl Table {
    /// Begins a row, unless the last one is empty.
    pub(super) fn begin_row(&mut self) {
        if self.rows.last().is_none_or(|row| !row.is_empty()) {
            self.rows.push(Vec::new());
        }
    }

    /// The table names its columns.
    pub(super) fn set_header(&mut self) {
        self.has_header = true;
    }

    pub(super) fn add_cell(&mut self, text: String) {
        match self.rows.last_mut() {
            Some(row) => row.push(text),
            None => self.rows.push(vec![text]),
        }
    }

    pub(super) fn add_caption(&mut self, text: String) {
        self.captions.push(text);
    }

    /// The table as paragraphs of Markdown: as a table under its header where it names its columns, else cell by cell,
    /// because tables without a header arrange a page more often than they hold data.
    pub(super) fn into_blocks(self) -> Vec<String> {
        let mut blocks = self.captions;
        blocks.retain(|caption| !caption.trim().is_empty());
        if !self.has_header {
            let cells = self.rows.into_iter().flatten();
            blocks.extend(cells.filter(|cell| !cell.trim().is_empty()));
            return blocks;
        }
        let mut rows = self.rows.into_iter().filter(|row| !row.is_empty());
        let Some(mut header) = rows.next() else {
            return blocks;
        };
        let rows: Vec<_> = rows.collect();
        // What a row has beyond the header is not read; a row may have less.
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(header.len());
        header.resize(columns, String::new());
        let mut table = String::new();
        line(&mut table, &header);
        table.push('|');
        table.push_str(&" --- |".repeat(columns));
        table.push('\n');
        for row in &rows {
            line(&mut table, row);
        }
        blocks.push(table);
        blocks
    }
}

fn line(out: &mut String, row: &[String]) {
    out.push('|');
    for cell in row {
        out.push(' ');
        for word in cell.split_ascii_whitespace() {
            out.push_str(&word.replace('|', "&#124;"));
            out.push(' ');
        }
        out.push('|');
    }
    out.push('\n');
}
