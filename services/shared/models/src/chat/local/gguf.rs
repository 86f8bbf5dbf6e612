//! A GGUF file: its metadata, and its tensors in types that are fast to multiply with.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};

use super::LoadError;

/// An open file whose head has been read.
pub(super) struct Gguf {
    path: PathBuf,
    content: Content,
    reader: BufReader<File>,
    /// What the metadata of the model itself is named by, such as `llama`.
    architecture: String,
}

impl Gguf {
    /// Reads the head of `path`.
    pub(super) fn open(path: &Path) -> Result<Self, LoadError> {
        let corrupt = |error: String| LoadError::corrupt(path, error);
        let mut reader = BufReader::new(File::open(path).map_err(|error| corrupt(error.to_string()))?);
        let content = Content::read(&mut reader).map_err(|error| corrupt(error.to_string()))?;
        let mut gguf = Self {
            path: path.to_owned(),
            content,
            reader,
            architecture: String::new(),
        };
        gguf.architecture = gguf.text("general.architecture")?.to_owned();
        Ok(gguf)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn architecture(&self) -> &str {
        &self.architecture
    }

    /// An error about this file.
    pub(super) fn corrupt(&self, detail: impl ToString) -> LoadError {
        LoadError::corrupt(&self.path, detail)
    }

    fn missing(&self, key: &str) -> LoadError {
        self.corrupt(format!("its metadata has no usable `{key}`"))
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    /// A text, such as that of `general.architecture`.
    pub(super) fn text(&self, key: &str) -> Result<&str, LoadError> {
        self.optional_text(key).ok_or_else(|| self.missing(key))
    }

    pub(super) fn optional_text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.value(key)?.to_bool().ok()
    }

    /// A whole number that is not negative, in whatever width it was written.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        whole(self.value(key)?)
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&str>, LoadError> {
        let Some(Value::Array(values)) = self.value(key) else {
            return Err(self.missing(key));
        };
        let mut texts = Vec::with_capacity(values.len());
        for value in values {
            let Value::String(text) = value else {
                return Err(self.missing(key));
            };
            texts.push(text.as_str());
        }
        Ok(texts)
    }

    /// A list of numbers, empty where there is none.
    pub(super) fn numbers<T>(&self, key: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, LoadError> {
        match self.value(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| read(value).ok_or_else(|| self.missing(key)))
                .collect(),
            Some(_) => Err(self.missing(key)),
        }
    }

    /// A size of the model that is at least 1: `block_count` is read from `llama.block_count`.
    pub(super) fn size(&self, name: &str) -> Result<usize, LoadError> {
        let key = format!("{}.{name}", self.architecture);
        let size = self.number(&key).and_then(|size| usize::try_from(size).ok());
        size.filter(|size| *size > 0).ok_or_else(|| self.missing(&key))
    }

    pub(super) fn optional_size(&self, name: &str) -> Option<usize> {
        self.size(name).ok()
    }

    /// A number of the model with a fraction.
    pub(super) fn real(&self, name: &str) -> Option<f32> {
        match self.value(&format!("{}.{name}", self.architecture))? {
            Value::F32(value) => Some(*value),
            Value::F64(value) => Some(*value as f32),
            _ => None,
        }
    }

    /// A text of the model.
    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.optional_text(&format!("{}.{name}", self.architecture))
    }

    pub(super) fn has(&self, tensor: &str) -> bool {
        self.content.tensor_infos.contains_key(tensor)
    }

    /// The rows and columns of a matrix that the file has.
    pub(super) fn rows(&self, tensor: &str) -> Option<usize> {
        self.content.tensor_infos.get(tensor)?.shape.dims().first().copied()
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<QTensor, LoadError> {
        let Some(info) = self.content.tensor_infos.get(name) else {
            return Err(self.corrupt(format!("it has no tensor `{name}`")));
        };
        if info.shape.dims() != shape {
            let found = info.shape.dims();
            return Err(self.corrupt(format!(
                "tensor `{name}` has the shape {found:?}, and {shape:?} is expected"
            )));
        }
        let read = info.read(&mut self.reader, self.content.tensor_data_offset, &Device::Cpu);
        read.map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }

    /// A matrix of `rows` × `columns`, to be multiplied with and to take rows from.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Arc<QTensor>, LoadError> {
        let tensor = self.tensor(name, &[rows, columns])?;
        let block = tensor.dtype().block_size();
        if !columns.is_multiple_of(block) {
            return Err(self.corrupt(format!(
                "tensor `{name}` has rows of {columns} values in blocks of {block}"
            )));
        }
        fast(tensor)
            .map(Arc::new)
            .map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }

    /// The same to multiply with only.
    pub(super) fn linear(&mut self, name: &str, rows: usize, columns: usize) -> Result<QMatMul, LoadError> {
        let matrix = self.matrix(name, rows, columns)?;
        QMatMul::from_arc(matrix).map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }

    /// The `length` values of a vector.
    pub(super) fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, LoadError> {
        let tensor = self.tensor(name, &[length])?;
        let values = tensor.dequantize(&Device::Cpu).and_then(|tensor| tensor.to_vec1());
        values.map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }
}

/// `tensor`, or the same in eight bits where the product with its own type is computed one value at a time.
///
/// Eight bits hold what four or five say up to rounding, and every dot product of them is vectorised.
fn fast(tensor: QTensor) -> candle_core::Result<QTensor> {
    match tensor.dtype() {
        GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1 | GgmlDType::Q8_1 => {
            QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)
        }
        _ => Ok(tensor),
    }
}

/// The number in whatever width it was written; none where it is negative or no whole number.
pub(super) fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::I8(value) => u64::try_from(*value).ok(),
        Value::I16(value) => u64::try_from(*value).ok(),
        Value::I32(value) => u64::try_from(*value).ok(),
        Value::I64(value) => u64::try_from(*value).ok(),
        value => value.to_u64().ok(),
    }
}
