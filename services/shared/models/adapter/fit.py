#!/usr/bin/env python3
"""Fits the adapter of multilingual-e5-small to questions and the sentences that answer them; see README.md.

    pip install jax optax tokenizers numpy
    emend eval pairs --data DIR --top-k 6 --out pairs
    python fit.py --model e5-small-q4.bin --out multilingual-e5-small.safetensors pairs/answer/*.jsonl

Each line of the pairs has `question`, `article` and `sentences` with `text` and `right`. `--held-out N` leaves out one of N articles
and prints how many of their questions have a right sentence as the closest one.
"""

import argparse
import hashlib
import json
import random
import struct
import unicodedata

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tokenizers import Tokenizer
from tokenizers.models import Unigram

ADAPTED, RANK, SCALE = 4, 16, 2.0
TEMPERATURE, RATE, EPOCHS = 0.02, 5e-4, 1.5
NEGATIVES, MAX_TOKENS = 7, 96
LENGTHS = {24: 16, 32: 16, 48: 12, 64: 8, 96: 6}  # tokens of a sentence: questions of a batch
PARTS = {"qkv": "qkv", "ao": "attention_output", "fi": "feed_forward_in", "fo": "feed_forward_out"}


class Model:
    """The weights and the tokenizer of the 4-bit file."""

    def __init__(self, path):
        self.data, self.at = open(path, "rb").read(), 8
        hidden, layers, self.heads, inner, _, positions, _ = self.take("7i")
        self.hidden, (self.epsilon,) = hidden, self.take("f")
        self.at += 4
        (pieces,) = self.take("i")
        self.first, self.last, _, unknown = self.take("4i")
        (blob_bytes,) = self.take("Q")
        offsets, scores = self.array("<u4", pieces + 1), self.array("<f4", pieces)
        blob = self.data[self.at : self.at + blob_bytes]
        self.at += blob_bytes
        vocabulary = []
        for i in range(pieces):
            piece, score = blob[offsets[i] : offsets[i + 1]].decode(), float(scores[i])
            vocabulary.append((f"\0{i}", -1.0) if score == 0 else (piece, score))
        self.tokenizer, self.known = Tokenizer(Unigram(vocabulary, unknown, False)), {}
        entries, _ = self.take("2I")
        self.normal = {}
        for _ in range(entries):
            (code,), (length,) = self.take("I"), self.take("B")
            self.normal[chr(code)] = "".join(map(chr, self.take(f"{length}I"))) if length else ""
        self.tensors = {}
        (count,) = self.take("I")
        for _ in range(count):
            (length,) = self.take("H")
            name = self.data[self.at : self.at + length].decode()
            self.at += length
            (kind,), (elements,), (offset, size) = self.take("B"), self.take("I"), self.take("2Q")
            self.tensors[name] = (elements, offset, size)
        row = lambda name: self.tensor(name).reshape(-1, hidden)
        self.words, places = row("emb.word"), row("emb.pos")
        self.places = (places[2:] if positions == 514 else places) + row("emb.type")[0]
        self.norm = (self.tensor("emb.ln.w"), self.tensor("emb.ln.b"))
        self.layers = []
        for i in range(layers):
            pair = lambda name: (self.tensor(f"l{i}.{name}.w"), self.tensor(f"l{i}.{name}.b"))
            linear = lambda name, out: (pair(name)[0].reshape(out, -1).T, pair(name)[1])
            three = [linear(name, hidden) for name in "qkv"]
            weights = {
                "qkv": (np.concatenate([w for w, _ in three], 1), np.concatenate([b for _, b in three])),
                "ao": linear("ao", hidden),
                "fi": linear("fi", inner),
                "fo": linear("fo", hidden),
            }
            layer = {name: (jnp.asarray(w, jnp.bfloat16), b) for name, (w, b) in weights.items()}
            self.layers.append(layer | {"aln": pair("aln"), "oln": pair("oln")})

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def array(self, kind, count):
        values = np.frombuffer(self.data, kind, count, self.at)
        self.at += 4 * count
        return values

    def tensor(self, name):
        elements, offset, size = self.tensors[name]
        raw = self.data[offset : offset + size]
        if size == 4 * elements:
            return np.frombuffer(raw, "<f4").copy()
        blocks = np.frombuffer(raw, np.uint8).reshape(-1, 18)
        scales, bits = blocks[:, :2].copy().view("<f2").astype(np.float32), blocks[:, 2:]
        values = np.concatenate([bits & 15, bits >> 4], 1).astype(np.float32) - 8
        return (values * scales).reshape(-1)[:elements]

    def ids(self, text, most):
        text = "".join(self.normal.get(c, c) for c in unicodedata.normalize("NFC", text))
        ids = []
        for word in filter(None, text.replace("\u2581", " ").split(" ")):
            if word not in self.known:
                self.known[word] = self.tokenizer.encode("\u2581" + word, add_special_tokens=False).ids
            ids += self.known[word]
        return (self.first, *ids[: most - 2], self.last)


@jax.custom_vjp
def product(x, weight):
    """A product with a frozen weight, in bfloat16 both ways."""
    return jnp.matmul(x.astype(jnp.bfloat16), weight, preferred_element_type=jnp.float32)


product.defvjp(
    lambda x, weight: (product(x, weight), weight),
    lambda weight, g: (
        jnp.matmul(g.astype(jnp.bfloat16), weight.T, preferred_element_type=jnp.float32),
        jnp.zeros_like(weight),
    ),
)


class Encoder:
    def __init__(self, model):
        self.model, self.states = model, {}
        self.lower, self.upper = model.layers[:-ADAPTED], model.layers[-ADAPTED:]
        self.below = jax.jit(lambda x, mask: self.through(x, mask, [(layer, None) for layer in self.lower]))
        self.embedding = jax.jit(self.embed)

    def normalized(self, x, norm):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + self.model.epsilon) * norm[0] + norm[1]

    def through(self, x, mask, layers):
        bias = jnp.where(mask, 0.0, -1e9)[:, None, None, :]
        batch, tokens, hidden = x.shape
        size = hidden // self.model.heads
        for layer, adapter in layers:

            def linear(x, name):
                y = product(x, layer[name][0]) + layer[name][1]
                return y if adapter is None else y + SCALE * (x @ adapter[name][0]) @ adapter[name][1]

            split = lambda z: z.reshape(batch, tokens, self.model.heads, size).transpose(0, 2, 1, 3)
            q, k, v = map(split, jnp.split(linear(x, "qkv"), 3, -1))
            weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(size) + bias, -1)
            context = (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
            x = self.normalized(x + linear(context, "ao"), layer["aln"])
            inner = jax.nn.gelu(linear(x, "fi"), approximate=False)
            x = self.normalized(x + linear(inner, "fo"), layer["oln"])
        return x

    def embed(self, adapters, x, mask):
        x = self.through(x, mask, zip(self.upper, adapters))
        mean = (x * mask[:, :, None]).sum(1)
        return mean / jnp.linalg.norm(mean, axis=1, keepdims=True)

    def batches(self, texts, tokens):
        texts = sorted(texts, key=len)
        while texts:
            length = padded(texts[0])
            count = sum(padded(text) == length for text in texts[: tokens // length])
            yield length, tokens // length, texts[:count]
            texts = texts[count:]

    def prepare(self, texts):
        """Computes the states of texts below the adapted layers, which do not change."""
        for length, rows, batch in self.batches({text for text in texts if text not in self.states}, 4096):
            x, mask = self.rows(batch, length, rows, lambda ids: self.model.words[list(ids)] + self.model.places[: len(ids)])
            states = np.asarray(self.below(self.normalized(x, self.model.norm), mask))
            for text, state in zip(batch, states):
                self.states[text] = state[: len(text)].astype(np.float16)

    def rows(self, texts, length, rows, state):
        x, mask = np.zeros((rows, length, self.model.hidden), np.float32), np.zeros((rows, length), bool)
        mask[:, 0] = True
        for row, text in enumerate(texts):
            x[row, : len(text)], mask[row, : len(text)] = state(text), True
        return x, mask

    def prepared(self, texts, length, rows):
        return self.rows(texts, length, rows, self.states.get)

    def embeddings(self, adapters, texts):
        self.prepare(texts)
        found = {}
        for length, rows, batch in self.batches(set(texts), 2048):
            vectors = np.asarray(self.embedding(adapters, *self.prepared(batch, length, rows)))
            found.update(zip(batch, vectors))
        return np.stack([found[text] for text in texts])


def padded(text):
    return next(length for length in LENGTHS if len(text) <= length)


def questions(paths, model):
    """Each question with its right and its wrong sentences; those beside a right one and those with its words come first."""
    found = {}
    for path in paths:
        for line in open(path, encoding="utf-8"):
            pair = json.loads(line)
            key = (path, pair["question"])
            question = found.setdefault(key, {"article": pair["article"], "right": [], "near": [], "far": []})
            question["ids"] = model.ids("query: " + pair["question"], 64)
            has_right = any(sentence["right"] for sentence in pair["sentences"])
            for sentence in pair["sentences"]:
                ids = model.ids("passage: " + sentence["text"], MAX_TOKENS)
                kind = "right" if sentence["right"] else "near" if has_right else "far"
                question[kind].append(ids)
    for question in found.values():
        own = set(question["ids"])
        shared = lambda ids: len(set(ids) & own) / (3 + len(set(ids))) ** 0.5
        for kind in ("near", "far"):
            question[kind].sort(key=shared, reverse=True)
    return [question for question in found.values() if question["right"] and len(question["near"] + question["far"]) >= 3]


def example(question, rng):
    rest = question["far"][3:30]
    rng.shuffle(rest)
    wrong = (question["near"][:3] + question["far"][:3] + rest)[:NEGATIVES]
    wrong += [rng.choice(wrong) for _ in range(NEGATIVES - len(wrong))]
    return question["ids"], [rng.choice(question["right"]), *wrong]


def plan(examples, rng):
    longest = lambda one: max(map(padded, one[1]))
    rng.shuffle(examples)
    examples, batches = sorted(examples, key=longest), []
    while examples:
        length = longest(examples[0])
        count = sum(longest(one) == length for one in examples[: LENGTHS[length]])
        batches.append((length, examples[:count]))
        examples = examples[count:]
    rng.shuffle(batches)
    return batches


def closest(encoder, adapters, held_out):
    right = 0
    for question in held_out:
        sentences = question["right"] + question["near"] + question["far"]
        vectors = encoder.embeddings(adapters, [question["ids"], *sentences])
        right += int(np.argmax(vectors[1:] @ vectors[0])) < len(question["right"])
    return right / max(1, len(held_out))


def fit(encoder, examples, rng):
    key, adapters = jax.random.PRNGKey(1), []
    for layer in encoder.upper:
        adapter = {}
        for name in PARTS:
            inputs, outputs = layer[name][0].shape
            key, own = jax.random.split(key)
            adapter[name] = (jax.random.normal(own, (inputs, RANK)) / np.sqrt(inputs), jnp.zeros((RANK, outputs)))
        adapters.append(adapter)

    def loss(adapters, asked, asked_mask, found, found_mask, count):
        asked = encoder.embed(adapters, asked, asked_mask)
        found = encoder.embed(adapters, found, found_mask).reshape(len(asked), NEGATIVES + 1, -1)
        is_used = jnp.arange(len(asked)) < count
        own = jnp.einsum("bh,bkh->bk", asked, found) / TEMPERATURE
        others = jnp.where(jnp.eye(len(asked), dtype=bool) | ~is_used[None], -1e9, asked @ found[:, 0].T / TEMPERATURE)
        total = jax.nn.logsumexp(jnp.concatenate([own, others], 1), axis=1)
        return ((total - own[:, 0]) * is_used).sum() / count

    encoder.prepare([text for asked, found in examples for text in (asked, *found)])
    batches = [batch for _ in range(int(EPOCHS + 0.999)) for batch in plan(list(examples), rng)]
    batches = batches[: int(len(plan(list(examples), rng)) * EPOCHS)]
    rate = optax.warmup_cosine_decay_schedule(0, RATE, max(1, len(batches) // 15), len(batches), RATE * 0.03)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))
    state = optimizer.init(adapters)

    @jax.jit
    def step(adapters, state, *batch):
        value, gradient = jax.value_and_grad(loss)(adapters, *batch)
        updates, state = optimizer.update(gradient, state, adapters)
        return optax.apply_updates(adapters, updates), state, value

    for number, (length, batch) in enumerate(batches, 1):
        rows = LENGTHS[length]
        asked = encoder.prepared([asked for asked, _ in batch], 64, rows)
        found = encoder.prepared([text for _, found in batch for text in found], length, rows * (NEGATIVES + 1))
        adapters, state, value = step(adapters, state, *asked, *found, len(batch))
        if number % 25 == 0 or number == len(batches):
            print(f"step {number} of {len(batches)}, loss {float(value):.3f}", flush=True)
    return adapters


def save(path, adapters, first):
    tensors = {}
    for index, adapter in enumerate(adapters, first):
        for name, (a, b) in adapter.items():
            tensors[f"layers.{index}.{PARTS[name]}.a"] = np.asarray(a).astype("<f2")
            tensors[f"layers.{index}.{PARTS[name]}.b"] = (SCALE * np.asarray(b)).astype("<f2")
    header, data = {}, b""
    for name in sorted(tensors):
        raw = tensors[name].tobytes()
        header[name] = {"dtype": "F16", "shape": tensors[name].shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--held-out", type=int, default=0, metavar="N")
    line = parser.parse_args()
    rng, model = random.Random(5), Model(line.model)
    encoder, known = Encoder(model), questions(line.pairs, model)
    fold = lambda question: hashlib.sha256(question["article"].encode()).digest()[0] % max(1, line.held_out)
    held_out = [question for question in known if line.held_out and fold(question) == 0]
    examples = [example(question, rng) for question in known if not line.held_out or fold(question)]
    print(f"{len(examples)} questions to fit, {len(held_out)} held out", flush=True)
    adapters = fit(encoder, examples, rng)
    if held_out:
        print(f"the closest sentence is right for {closest(encoder, adapters, held_out):.3f} of those held out")
    save(line.out, adapters, len(encoder.lower))


if __name__ == "__main__":
    main()
