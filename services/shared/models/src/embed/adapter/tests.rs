use half::f16;

use super::*;
use crate::embed::{kernels::LayerNorm, product::Scratch};

struct NoTokens;

impl crate::embed::bert::EmbeddingTable for NoTokens {
    fn rows(&self) -> usize {
        0
    }

    fn read(&self, _: usize, _: &mut [f32]) {}
}

fn norm() -> LayerNorm {
    LayerNorm {
        weight: vec![1.0; 2],
        bias: vec![0.0; 2],
        epsilon: 1e-12,
    }
}

fn layer() -> Layer {
    let linear = |outputs: usize| Linear::new(&vec![1.0; 2 * outputs], vec![0.25; outputs]).unwrap();
    Layer {
        qkv: linear(6),
        attention_output: linear(2),
        attention_norm: norm(),
        feed_forward_in: linear(2),
        feed_forward_out: linear(2),
        output_norm: norm(),
    }
}

/// An encoder of two layers of weights of 1.
fn bert() -> Bert {
    Bert {
        heads: 1,
        token_embeddings: Box::new(NoTokens),
        positions: Vec::new(),
        embedding_norm: norm(),
        layers: vec![layer(), layer()],
    }
}

/// An adapter of rank 1 that adds 2 · 3 to each weight of the layer `index`.
fn adapter(index: usize, without: &str) -> Vec<u8> {
    let mut tensors = HashMap::new();
    for (part, outputs) in [
        ("qkv", 6),
        ("attention_output", 2),
        ("feed_forward_in", 2),
        ("feed_forward_out", 2),
    ] {
        for (side, value, shape) in [("a", 2.0, (2, 1)), ("b", 3.0, (1, outputs))] {
            let values = vec![f16::from_f32(value); shape.0 * shape.1];
            let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
            tensors.insert(format!("layers.{index}.{part}.{side}"), tensor);
        }
    }
    let weights = Tensor::from_vec(vec![f16::ONE; 2], 2, &Device::Cpu).unwrap();
    tensors.insert("token_weights".to_owned(), weights);
    tensors.remove(without);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adapter.safetensors");
    candle_core::safetensors::save(&tensors, &path).unwrap();
    std::fs::read(path).unwrap()
}

/// The weight of a layer of two inputs.
fn weight(linear: &Linear) -> Vec<f32> {
    let mut weight = vec![0.0; 2 * linear.outputs()];
    let product = Scratch::with(|scratch| linear.product(&[1.0, 0.0, 0.0, 1.0], &mut weight, scratch));
    product.unwrap();
    weight
}

#[test]
fn products_are_added_to_the_last_layers() {
    let bert = bert();
    let Adapter {
        answer_layers,
        search_layers,
        token_weights,
    } = Adapter::read(&bert, &adapter(1, "")).unwrap();
    assert_eq!(token_weights, [1.0; 2]);
    for (layers, value) in [(&answer_layers, 7.0), (&search_layers, 1.0 + 6.0 * SEARCH_STRENGTH)] {
        assert_eq!(layers.len(), 1);
        for (linear, inputs) in [(&layers[0].qkv, 2), (&layers[0].feed_forward_out, 2)] {
            assert_eq!(weight(linear), vec![value; inputs * linear.bias.len()]);
            assert!(linear.bias.iter().all(|bias| *bias == 0.25));
        }
    }
    assert_eq!(weight(&bert.layers[1].qkv), [1.0; 12], "the encoder's own weights stay");
}

#[test]
fn an_adapter_that_does_not_fit_says_why() {
    let refused = |adapter: &[u8]| Adapter::read(&bert(), adapter).err().map(|error| error.to_string());
    assert!(refused(b"no safetensors").is_some());
    assert!(refused(&adapter(7, "")).is_some_and(|error| error.contains("layers.1.qkv.a")));
    for missing in ["layers.1.feed_forward_in.b", "token_weights"] {
        assert!(refused(&adapter(1, missing)).is_some_and(|error| error.contains(missing)));
    }
    assert!(refused(b"\x02\0\0\0\0\0\0\0{}").is_some_and(|error| error.contains("0 layers")));
}
