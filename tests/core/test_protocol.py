"""Fingerprints are compared with each other; nothing here depends on their value."""

import json

import pytest

from gnomon.core.canonical import encode
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.evidence import Claim, Need
from gnomon.core.protocol import Protocol
from gnomon.measures.classification import F1, Accuracy


def protocol(**changes):
    given = {
        "name": "labels",
        "version": "1",
        "measures": (F1("macro"), Accuracy()),
        "group": "subject",
        "tasks": ("walk",),
        "split": {"by": "subject", "folds": 5},
        "slices": ("room",),
        "settings": {"window_s": 2.0, "overlap": 0.5},
        "claims": (Claim("c", "holds", (Need("groups", 6, "six groups"),)),),
        "variants": {"strict": {"settings": {"window_s": 1.0}}, "published": {}},
    }
    return Protocol(**{**given, **changes})


def test_equal_protocols_have_equal_fingerprints():
    assert protocol().fingerprint == protocol().fingerprint


def test_the_order_of_keys_does_not_change_the_fingerprint():
    other = protocol(settings={"overlap": 0.5, "window_s": 2.0}, split={"folds": 5, "by": "subject"})
    assert other.fingerprint == protocol().fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "har"},
        {"version": "2"},
        {"group": "recording"},
        {"tasks": ("walk", "run")},
        {"split": {"by": "subject", "folds": 6}},
        {"slices": ()},
        {"settings": {"window_s": 2.0, "overlap": 0.25}},
        {"claims": ()},
        {"claims": (Claim("c", "holds", (Need("groups", 5, "six groups"),)),)},
        {"variant": "strict"},
        {"measures": (Accuracy(), F1("macro"))},
        {"measures": (F1("macro"),)},
        {"measures": (F1("weighted"), Accuracy())},
        {"measures": (F1("macro", "present"), Accuracy())},
        {"measures": (F1("macro", ("a", "b")), Accuracy())},
        {"measures": (F1("macro", zero_division=1), Accuracy())},
        {"measures": (F1("macro", zero_division=None), Accuracy())},
    ],
    ids=str,
)
def test_any_change_of_meaning_changes_the_fingerprint(changes):
    assert protocol(**changes).fingerprint != protocol().fingerprint


def test_every_change_gives_its_own_fingerprint():
    made = [protocol(measures=(F1("macro", classes),)) for classes in ("union", "present", ("a",), ("b",), ("a", "b"))]
    assert len({one.fingerprint for one in made}) == len(made)


def test_the_variants_on_offer_are_not_part_of_the_fingerprint():
    assert protocol(variants={}).fingerprint == protocol().fingerprint


def test_the_record_is_canonical_plain_data():
    record = protocol().record()
    assert json.loads(encode(record)) == record
    assert record["measures"][0] == {
        "type": "F1",
        "family": "classification",
        "parameters": {"average": "macro", "classes": "union", "zero_division": 0},
    }


def test_a_variant_replaces_what_it_names_and_keeps_the_rest():
    strict = protocol().take("strict")
    assert strict.variant == "strict"
    assert strict.settings == {"window_s": 1.0}
    assert strict.measures == protocol().measures


def test_variants_have_their_own_fingerprints():
    made = {protocol().fingerprint, protocol().take("strict").fingerprint, protocol().take("published").fingerprint}
    assert len(made) == 3


def test_taking_a_variant_leaves_the_protocol_as_it_was():
    whole = protocol()
    whole.take("strict")
    assert whole == protocol()


def test_an_unknown_variant_is_named_with_those_there_are():
    with pytest.raises(InputError, match=r"no variant 'loose'; it has \['published', 'strict'\]"):
        protocol().take("loose")


def test_a_protocol_needs_a_measure():
    with pytest.raises(GnomonError, match="'labels' declares no measure"):
        protocol(measures=())


def test_a_measure_is_declared_once():
    with pytest.raises(GnomonError, match=r"declares measures of one name: \['accuracy'\]"):
        protocol(measures=(Accuracy(), F1(), Accuracy()))
