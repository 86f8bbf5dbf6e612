//! GGUF files: metadata and tensors. Tensors of types with slow kernels are requantised.

mod header;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};

use super::LoadError;

/// An open GGUF file whose header has been read.
pub(super) struct Gguf {
    path: PathBuf,
    content: Content,
    reader: BufReader<File>,
    /// The value of `general.architecture`, such as `llama`. It prefixes the keys of the model's hyperparameters.
    architecture: String,
}

impl Gguf {
    /// Opens `path` and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self, LoadError> {
        let corrupt = |error: String| LoadError::corrupt(path, error);
        let mut reader = BufReader::new(File::open(path).map_err(|error| corrupt(error.to_string()))?);
        header::check(&mut reader).map_err(corrupt)?;
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

    /// Creates a [`LoadError::Corrupt`] for this file.
    pub(super) fn corrupt(&self, detail: impl ToString) -> LoadError {
        LoadError::corrupt(&self.path, detail)
    }

    fn missing(&self, key: &str) -> LoadError {
        self.corrupt(format!("the metadata has no valid `{key}`"))
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    /// Reads a string, such as `general.architecture`.
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

    /// Reads a non-negative integer of any width.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        to_u64(self.value(key)?)
    }

    /// Reads an array of strings.
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

    /// Reads an array of numbers, converted by `read`. Empty if the key is missing.
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

    /// Reads a model size that is at least 1. `name` is without the architecture: `block_count` reads
    /// `llama.block_count`.
    pub(super) fn size(&self, name: &str) -> Result<usize, LoadError> {
        let key = format!("{}.{name}", self.architecture);
        let size = self.number(&key).and_then(|size| usize::try_from(size).ok());
        size.filter(|size| *size > 0).ok_or_else(|| self.missing(&key))
    }

    pub(super) fn optional_size(&self, name: &str) -> Option<usize> {
        self.size(name).ok()
    }

    /// Reads a float of the model. `name` is without the architecture.
    pub(super) fn model_float(&self, name: &str) -> Option<f32> {
        match self.value(&format!("{}.{name}", self.architecture))? {
            Value::F32(value) => Some(*value),
            Value::F64(value) => Some(*value as f32),
            _ => None,
        }
    }

    /// Reads a string of the model. `name` is without the architecture.
    pub(super) fn model_text(&self, name: &str) -> Option<&str> {
        self.optional_text(&format!("{}.{name}", self.architecture))
    }

    pub(super) fn has(&self, tensor: &str) -> bool {
        self.content.tensor_infos.contains_key(tensor)
    }

    /// The number of rows of a matrix, if the file has it.
    pub(super) fn rows(&self, tensor: &str) -> Option<usize> {
        self.content.tensor_infos.get(tensor)?.shape.dims().first().copied()
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<QTensor, LoadError> {
        let Some(info) = self.content.tensor_infos.get(name) else {
            return Err(self.corrupt(format!("tensor `{name}` is missing")));
        };
        if info.shape.dims() != shape {
            let found = info.shape.dims();
            return Err(self.corrupt(format!("tensor `{name}` has the shape {found:?}, expected {shape:?}")));
        }
        let read = info.read(&mut self.reader, self.content.tensor_data_offset, &Device::Cpu);
        read.map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }

    /// Reads a matrix of `rows` × `columns`, for products and row lookups.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Arc<QTensor>, LoadError> {
        let tensor = self.tensor(name, &[rows, columns])?;
        let block = tensor.dtype().block_size();
        if !columns.is_multiple_of(block) {
            return Err(self.corrupt(format!(
                "tensor `{name}` has rows of {columns} values, which is not a multiple of its block size {block}"
            )));
        }
        requantize(tensor)
            .map(Arc::new)
            .map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }

    /// Reads a matrix of `rows` × `columns`, for products only.
    pub(super) fn linear(&mut self, name: &str, rows: usize, columns: usize) -> Result<QMatMul, LoadError> {
        let matrix = self.matrix(name, rows, columns)?;
        QMatMul::from_arc(matrix).map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }

    /// Reads a vector of `length` values as f32.
    pub(super) fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, LoadError> {
        let tensor = self.tensor(name, &[length])?;
        let values = tensor.dequantize(&Device::Cpu).and_then(|tensor| tensor.to_vec1());
        values.map_err(|error| self.corrupt(format!("tensor `{name}`: {error}")))
    }
}

/// Requantises `tensor` to Q8_0 if candle has no vectorised dot product for its type.
///
/// Q8_0 represents 4- and 5-bit values up to rounding, and its dot product is vectorised on every platform.
fn requantize(tensor: QTensor) -> candle_core::Result<QTensor> {
    match tensor.dtype() {
        GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1 | GgmlDType::Q8_1 => {
            QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)
        }
        _ => Ok(tensor),
    }
}

/// Converts an integer of any width. `None` if it is negative or not an integer.
pub(super) fn to_u64(value: &Value) -> Option<u64> {
    match value {
        Value::I8(value) => u64::try_from(*value).ok(),
        Value::I16(value) => u64::try_from(*value).ok(),
        Value::I32(value) => u64::try_from(*value).ok(),
        Value::I64(value) => u64::try_from(*value).ok(),
        value => value.to_u64().ok(),
    }
}
