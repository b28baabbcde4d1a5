"""``gnomon data``: what suites say of their datasets. The suite here is a stand-in; its answers are written by hand."""

import json

import pytest

from gnomon.cli.main import main
from gnomon.core import registry
from gnomon.core.suite import Listing, Suite
from gnomon.core.table import Cell, Column, Table


def answer(verb, argument):
    if verb == "describe" and argument != "walks":
        return None
    table = Table("t", f"{verb} {argument}".strip(), (Column("dataset", "dataset"),), ({"dataset": Cell("walks")},))
    return Listing((table,), faults=int(argument == "damaged"))


@pytest.fixture
def suites(monkeypatch):
    there = {
        "plain": Suite("plain", "no data", {}, ""),
        "walking": Suite("walking", "walks", {}, "", data=f"{__name__}:answer"),
    }
    monkeypatch.setattr(registry, "suites", lambda: there)
    return there


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(["data", *arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def test_list_and_describe(capsys, suites):
    code, out, _ = call(capsys, "list")
    assert code == 0
    assert "walks" in out
    code, out, err = call(capsys, "describe", "walks", "--json")
    assert (code, err) == (0, "")
    assert "describe walks" in json.dumps(json.loads(out))


def test_check_fails_where_a_dataset_cannot_be_used(capsys, suites):
    assert call(capsys, "check", "fine")[0] == 0
    assert call(capsys, "check", "damaged")[0] == 1


def test_unknown_names_and_suites_without_data(capsys, suites):
    code, _, err = call(capsys, "describe", "nothing")
    assert code == 2
    assert "no dataset 'nothing'" in err
    code, _, err = call(capsys, "list", "--suite", "plain")
    assert code == 2
    assert "'plain' know of none" in err


def test_help_names_the_three(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert all(word in out for word in ("list", "check", "describe"))
