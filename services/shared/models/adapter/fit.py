#!/usr/bin/env python3
"""Fits the adapter of multilingual-e5-small to questions and the sentences that answer them; see README.md.

    pip install jax optax tokenizers numpy
    emend eval pairs --data DIR --top-k 6 --out pairs
    python fit.py --model e5-small-q4.bin --out multilingual-e5-small.safetensors pairs/answer/*.jsonl

Each line of the pairs has `question`, `article` and `sections` with `heading` and `sentences`, each with `text` and `right`.
`--held-out N` leaves out one of N articles and prints for what share of their questions the most similar sentence is a right one,
and one of the three most similar. `--from FILE` begins with the weights of an earlier fit, which may adapt fewer layers.
"""

import argparse
import hashlib
import json
import math
import random
import struct
import unicodedata

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tokenizers import Tokenizer
from tokenizers.models import Unigram

RANK, SCALE = 16, 2.0
TEMPERATURE, WEIGHT_SCALE, SHARPNESS = 0.02, 50.0, 60.0
WINDOWS, UNANSWERED = 4, 0.2  # windows of a question; share of questions whose right window is left out
MAX_TOKENS, MAX_HEADING, MAX_SENTENCE, MAX_SENTENCES = 192, 26, 96, 40
LENGTHS = {32: 12, 64: 8, 96: 6, 128: 4, 160: 4, 192: 3}  # tokens of a window: questions of a batch
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
            self.layers.append(weights | {"aln": pair("aln"), "oln": pair("oln")})

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

    def ids(self, text):
        text = "".join(self.normal.get(c, c) for c in unicodedata.normalize("NFC", text))
        ids = []
        for word in filter(None, text.replace("\u2581", " ").split(" ")):
            if word not in self.known:
                self.known[word] = self.tokenizer.encode("\u2581" + word, add_special_tokens=False).ids
            ids += self.known[word]
        return ids


# Products with weights are in bfloat16 both ways. Without the barriers XLA computes the element-wise functions again in the
# inner loops of the products that read them, which takes twice as long.
barrier = jax.lax.optimization_barrier


def product(x, weight):
    return jnp.matmul(x.astype(jnp.bfloat16), weight.astype(jnp.bfloat16), preferred_element_type=jnp.float32)


@jax.custom_vjp
def adapted(x, weight, a, b):
    """A product with a frozen weight to which the product of two small matrices is added."""
    return adapted_forward(x, weight, a, b)[0]


def adapted_forward(x, weight, a, b):
    whole = (weight + SCALE * a @ b).astype(jnp.bfloat16)
    return product(x, whole), (x, whole, weight, a, b)


def adapted_backward(kept, g):
    x, whole, weight, a, b = kept
    flat = lambda value: value.reshape(-1, value.shape[-1])
    change = SCALE * product(flat(x).T, flat(g))
    return product(g, whole.T), jnp.zeros_like(weight), change @ b.T, a.T @ change


adapted.defvjp(adapted_forward, adapted_backward)


@jax.custom_vjp
def gelu(x):
    return gelu_forward(x)[0]


def gelu_forward(x):
    share = 0.5 * (1 + jax.lax.erf(x / np.sqrt(2)))
    return barrier(x * share), barrier(share + x * jnp.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))


gelu.defvjp(gelu_forward, lambda slope, g: (barrier(g * slope),))


@jax.custom_vjp
def softmax(x):
    return barrier(jax.nn.softmax(x, -1))


softmax.defvjp(
    lambda x: (softmax(x),) * 2,
    lambda weights, g: (barrier(weights * (g - (g * weights).sum(-1, keepdims=True))),),
)


class Encoder:
    def __init__(self, model, adapted):
        self.model, self.states = model, {}
        self.lower, self.upper = stacked(model.layers[:-adapted]), stacked(model.layers[-adapted:])
        none = untrained(self.lower) if self.lower else None
        self.below = jax.jit(lambda x, mask: self.through(x, mask, self.lower, none) if self.lower else x)
        self.prefix = 1 + len(model.ids("query: "))
        self.compare = jax.jit(lambda fitted, asked, windows, places: self.similarities(fitted, asked, windows, places, jnp.max))

    def normalized(self, x, norm):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + self.model.epsilon) * norm[0] + norm[1]

    def through(self, x, mask, layers, adapters):
        """The states of `layers`, to whose weights the product of `adapters` is added; both have an axis of layers first."""
        bias = jnp.where(mask, 0.0, -1e9)[:, None, None, :]
        batch, tokens, hidden = x.shape
        size = hidden // self.model.heads

        def through_one(x, both):
            layer, adapter = both
            linear = lambda x, name: adapted(x, layer[name][0], *adapter[name]) + layer[name][1]
            split = lambda z: barrier(z.reshape(batch, tokens, self.model.heads, size).transpose(0, 2, 1, 3))
            q, k, v = map(split, jnp.split(linear(x, "qkv"), 3, -1))
            weights = softmax(q / np.sqrt(size) @ k.transpose(0, 1, 3, 2) + bias)
            context = barrier(weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
            x = self.normalized(x + linear(context, "ao"), layer["aln"])
            return self.normalized(x + linear(gelu(linear(x, "fi")), "fo"), layer["oln"]), None

        return jax.lax.scan(through_one, x, (layers, adapters))[0]

    def tokens(self, fitted, x, mask):
        return unit(self.through(x, mask, self.upper, fitted["layers"]))

    def similarities(self, fitted, asked, windows, places, most=None):
        """The cosine of each question with each sentence of all windows, and its MaxSim with those of its own.

        asked: rows and mask, one question each; windows: rows and mask, the same number of each question; places: the sentence of
        each token, MAX_SENTENCES for none.
        """
        questions, mask = self.tokens(fitted, *asked), asked[1]
        at = jnp.arange(mask.shape[1])
        own = mask & (at >= self.prefix) & (at < mask.sum(1, keepdims=True) - 1)
        weights = jax.nn.softmax(jnp.where(own, WEIGHT_SCALE * (questions @ fitted["weights"]), -1e9), 1)
        whole = unit((questions * own[:, :, None]).sum(1))
        tokens = self.tokens(fitted, *windows)
        of = jax.nn.one_hot(places, MAX_SENTENCES)
        pooled = unit(jnp.einsum("wts,wth->wsh", of, tokens))
        count = len(windows[0]) // len(whole)
        by_question = lambda x: x.reshape(len(whole), count, *x.shape[1:])
        near = jnp.einsum("bnh,bkth->bktn", questions, by_question(tokens))
        of = by_question(of)
        if most is None:
            # A smooth maximum, which has a gradient for each token.
            powers = jnp.einsum("bkts,bktn->bksn", of, jnp.exp(SHARPNESS * (near - 1)))
            nearest = 1 + jnp.log(powers + 1e-30) / SHARPNESS
        else:
            each = lambda s: jnp.where(of[:, :, :, s, None] > 0, near, -9.0).max(2)
            nearest = jnp.stack([each(s) for s in range(MAX_SENTENCES)], 2)
        late = jnp.einsum("bksn,bn->bks", nearest, weights)
        return jnp.einsum("bh,gksh->bgks", whole, by_question(pooled)), late

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


def stacked(layers):
    return jax.tree_util.tree_map(lambda *own: jnp.stack([jnp.asarray(one) for one in own]), *layers) if layers else None


def unit(x):
    return x * jax.lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-9)


def padded(text):
    return next(length for length in LENGTHS if len(text) <= length)


class Window:
    """Sentences behind their heading: the ids, the sentence of each token, and which sentences are right."""

    def __init__(self, model, heading):
        self.ids = [model.first, *model.ids(f"passage: {heading or ''}")[:MAX_HEADING]]
        self.places, self.right = [MAX_SENTENCES] * len(self.ids), []

    def takes(self, ids):
        return len(self.ids) + len(ids) < MAX_TOKENS and len(self.right) < MAX_SENTENCES

    def add(self, ids, right):
        self.places += [len(self.right)] * len(ids)
        self.ids += ids
        self.right.append(right)

    def end(self, model):
        self.ids = (*self.ids, model.last)
        self.places.append(MAX_SENTENCES)
        return self


def windows(model, section):
    found = []
    for sentence in section["sentences"]:
        ids = model.ids(sentence["text"])[:MAX_SENTENCE]
        if ids and not (found and found[-1].takes(ids)):
            found.append(Window(model, section["heading"]))
        if ids:
            found[-1].add(ids, sentence["right"])
    return [window.end(model) for window in found]


def questions(paths, model):
    """Each question with the windows that were found for it, those with most of its rare words first."""
    found = {}
    for path in paths:
        for line in open(path, encoding="utf-8"):
            pair = json.loads(line)
            key = (path, pair["question"])
            question = found.setdefault(key, {"path": path, "article": pair["article"], "windows": []})
            question["ids"] = (model.first, *model.ids("query: " + pair["question"])[:62], model.last)
            for section in pair["sections"]:
                question["windows"] += windows(model, section)
    for question in found.values():
        own, every = set(question["ids"]), question["windows"]
        common = {id: sum(id in window.ids for window in every) for id in own}
        rare = lambda window: sum(math.log(1 + len(every) / common[id]) for id in own & set(window.ids))
        every.sort(key=rare, reverse=True)
    return [question for question in found.values() if len(question["windows"]) > 1]


def example(question, rng):
    right = [window for window in question["windows"] if any(window.right)]
    wrong = [window for window in question["windows"] if not any(window.right)]
    if rng.random() < UNANSWERED and len(wrong) >= 3:
        right = []
    rng.shuffle(right)
    near, far = wrong[: WINDOWS + 2], wrong[WINDOWS:40]
    rng.shuffle(near)
    rng.shuffle(far)
    first = right[:1] + near[: WINDOWS - 1 - len(right[:1])]
    return question["ids"], (first + far + near[len(first) - len(right[:1]) :])[:WINDOWS]


def plan(examples, rng):
    longest = lambda one: max(padded(window.ids) for window in one[1])
    rng.shuffle(examples)
    examples, batches = sorted(examples, key=longest), []
    while examples:
        length = longest(examples[0])
        count = sum(longest(one) == length for one in examples[: LENGTHS[length]])
        batches.append((length, examples[:count]))
        examples = examples[count:]
    rng.shuffle(batches)
    return batches


def arranged(encoder, examples, length, rows, count):
    """The rows of questions and windows, the sentence of each token, and which sentences there are and are right."""
    asked = encoder.prepared([ids for ids, _ in examples], 64, rows)
    shape = (rows, count, MAX_SENTENCES)
    places, exists, right = np.full((rows, count, length), MAX_SENTENCES), np.zeros(shape, bool), np.zeros(shape, bool)
    x, mask = np.zeros((rows, count, length, encoder.model.hidden), np.float32), np.zeros((rows, count, length), bool)
    mask[:, :, 0] = True
    for row, (_, own) in enumerate(examples):
        x[row, : len(own)], mask[row, : len(own)] = encoder.prepared([window.ids for window in own], length, len(own))
        for at, window in enumerate(own):
            places[row, at, : len(window.places)] = window.places
            exists[row, at, : len(window.right)], right[row, at, : len(window.right)] = True, window.right
    flat = lambda value: value.reshape(rows * count, *value.shape[2:])
    return asked, (flat(x), flat(mask)), flat(places), exists, right


def closest(encoder, fitted, held_out):
    """For how many questions the most similar sentence is a right one, and one of the three most similar; and of how many."""
    first = three = answered = 0
    for question in held_out:
        own = question["windows"][:10]
        if not any(any(window.right) for window in own):
            continue
        encoder.prepare([question["ids"], *(window.ids for window in own)])
        asked, rows, places, exists, wanted = arranged(encoder, [(question["ids"], own)], MAX_TOKENS, 1, 10)
        cosines, late = encoder.compare(fitted, asked, rows, places)
        ranked = np.argsort(-np.where(exists, cosines[:, 0] + late, -9.0), axis=None)
        right = wanted.reshape(-1)[ranked]
        answered, first, three = answered + 1, first + bool(right[0]), three + bool(right[:3].any())
    return first, three, answered


def untrained(layers):
    """Adapters that change nothing yet."""
    key, adapters = jax.random.PRNGKey(1), {}
    for name in PARTS:
        count, inputs, outputs = layers[name][0].shape
        key, own = jax.random.split(key)
        a = jax.random.normal(own, (count, inputs, RANK)) / np.sqrt(inputs)
        adapters[name] = (a, jnp.zeros((count, RANK, outputs)))
    return adapters


def fit(encoder, examples, rng, fitted, peak, null_weight):
    def ranked(scores, null, right, is_used):
        """Right sentences against the wrong ones, and with the weight of the null all of them against the null."""
        total = jax.nn.logsumexp(scores, axis=1)
        own = jax.nn.logsumexp(jnp.where(right, scores, -1e9), axis=1)
        answered = right.any(1)
        against = jnp.logaddexp(total, null) - jnp.where(answered, own, null)
        return (jnp.where(answered, total - own, 0.0) + null_weight * against) * is_used

    def loss(fitted, asked, found, places, exists, right, count):
        cosines, late = encoder.similarities(fitted, asked, found, places)
        batch = len(asked[0])
        is_used, (null, late_null) = jnp.arange(batch) < count, fitted["nulls"]
        flat = lambda value: value.reshape(batch, -1)
        own = flat(jnp.where(exists, jnp.einsum("bbks->bks", cosines), -1.0))
        late = flat(jnp.where(exists, late, -1.0))
        # By cosine, also against the right sentences of the batch's other questions.
        foreign = right[None] & ~jnp.eye(batch, dtype=bool)[:, :, None, None] & is_used[None, :, None, None]
        others = flat(jnp.where(foreign, cosines, -1.0))
        right = flat(right)
        none = jnp.zeros(others.shape, bool)
        total = ranked(jnp.concatenate([own, others], 1) / TEMPERATURE, null / TEMPERATURE, jnp.concatenate([right, none], 1), is_used)
        total += ranked(late / TEMPERATURE, late_null / TEMPERATURE, right, is_used)
        both = (own + late) / (2 * TEMPERATURE)
        total += ranked(both, (null + late_null) / (2 * TEMPERATURE), right, is_used)
        return total.sum() / count

    encoder.prepare([text for asked, own in examples for text in (asked, *(window.ids for window in own))])
    batches = plan(list(examples), rng)
    rate = optax.warmup_cosine_decay_schedule(0, peak, max(1, len(batches) // 15), len(batches), peak * 0.03)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))
    state = optimizer.init(fitted)

    @jax.jit
    def step(fitted, state, *batch):
        value, gradient = jax.value_and_grad(loss)(fitted, *batch)
        updates, state = optimizer.update(gradient, state, fitted)
        return optax.apply_updates(fitted, updates), state, value

    for number, (length, batch) in enumerate(batches, 1):
        rows = arranged(encoder, batch, length, LENGTHS[length], WINDOWS)
        fitted, state, value = step(fitted, state, *rows, len(batch))
        if number % 25 == 0 or number == len(batches):
            print(f"step {number} of {len(batches)}, loss {float(value):.3f}", flush=True)
    return fitted


def save(path, fitted, first):
    tensors = {"token_weights": (WEIGHT_SCALE * np.asarray(fitted["weights"])).astype("<f2")}
    for name, (every_a, every_b) in fitted["layers"].items():
        for index, (a, b) in enumerate(zip(every_a, every_b), first):
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


def saved(path, fitted, first):
    """An earlier fit in place of `fitted`, but for the nulls, which are not saved, and layers that it leaves as they are."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()

    def tensor(name, scale):
        (begin, end), shape = header[name]["data_offsets"], header[name]["shape"]
        return np.frombuffer(data[begin:end], "<f2").reshape(shape).astype(np.float32) / scale

    layers = {}
    for name, pair in fitted["layers"].items():
        pair = [np.array(every) for every in pair]
        for every, kind, scale in zip(pair, "ab", (1.0, SCALE)):
            for index in range(len(every)):
                own = f"layers.{first + index}.{PARTS[name]}.{kind}"
                if own in header:
                    every[index] = tensor(own, scale)
        layers[name] = tuple(map(jnp.asarray, pair))
    return fitted | {"layers": layers, "weights": jnp.asarray(tensor("token_weights", WEIGHT_SCALE))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--held-out", type=int, default=0, metavar="N")
    parser.add_argument("--from", dest="start", metavar="FILE")
    parser.add_argument("--layers", type=int, default=12, help="layers to adapt, the last ones (default %(default)s)")
    parser.add_argument("--epochs", type=int, default=1, help="(default %(default)s)")
    parser.add_argument("--rate", type=float, default=5e-4, help="peak of the learning rate (default %(default)s)")
    parser.add_argument("--null-weight", type=float, default=0.5, help="(default %(default)s)")
    line = parser.parse_args()
    rng, model = random.Random(5), Model(line.model)
    encoder, known = Encoder(model, line.layers), questions(line.pairs, model)
    fold = lambda question: hashlib.sha256(question["article"].encode()).digest()[0] % max(1, line.held_out)
    held_out = [question for question in known if line.held_out and fold(question) == 0]
    known = [question for question in known if not line.held_out or fold(question)] * line.epochs
    examples = [example(question, rng) for question in known]
    print(f"{len(examples)} questions to fit, {len(held_out)} held out", flush=True)
    # The nulls are what a sentence must exceed to count as an answer.
    weights, nulls = jnp.zeros(model.hidden), jnp.array([0.85, 0.85])
    fitted = {"layers": untrained(encoder.upper), "weights": weights, "nulls": nulls}
    first = len(model.layers) - line.layers
    if line.start:
        fitted = saved(line.start, fitted, first)
    fitted = fit(encoder, examples, rng, fitted, line.rate, line.null_weight)
    for path in sorted({question["path"] for question in held_out}):
        first, three, count = closest(encoder, fitted, [question for question in held_out if question["path"] == path])
        print(f"{path}: of {count} held out {first} by the most similar sentence, {three} by one of three", flush=True)
    save(line.out, fitted, first)


if __name__ == "__main__":
    main()
