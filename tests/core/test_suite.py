"""A suite made for the test."""

import json

import pytest

from gnomon.core.errors import InputError
from gnomon.core.suite import Step, Suite, Verb, load

SUITE = Suite("toy", "a toy", {"score": Verb(dict, "json:dumps", "score it"), "demo": Verb(dict, "json:loads", "")}, "")


def test_a_verb_is_found_by_name():
    assert SUITE.verb("score").help == "score it"


def test_a_verb_that_is_not_offered_is_named_with_those_that_are():
    with pytest.raises(InputError, match="suite 'toy' does not offer 'run'; it offers score, demo"):
        SUITE.verb("run")


def test_a_handler_is_imported_when_asked_for():
    assert SUITE.verb("score").load() is json.dumps
    assert load("json:loads") is json.loads


def test_a_suite_with_a_missing_handler_can_still_be_made():
    verb = Verb(dict, "no_such_module_anywhere:f", "")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        verb.load()


def test_a_missing_function_is_named():
    with pytest.raises(AttributeError, match="no_such_function"):
        load("json:no_such_function")


def test_steps_are_values():
    assert Step("score", {"out": "x"}) == Step("score", {"out": "x"})
