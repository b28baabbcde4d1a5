"""Keys and order of plans."""

import pytest

from gnomon.core.code_identity import identity_of
from gnomon.core.errors import GnomonError
from gnomon.engine.plan import Limits, Node, Plan


def test_key_depends_on_everything_but_names_labels_and_limits():
    base = Node("a", "m:f", {"x": 1})
    assert Node("b", "m:f", {"x": 1}, labels={"system": "s"}, limits=Limits(retries=9)).key == base.key
    assert Node("a", "m:g", {"x": 1}).key != base.key
    assert Node("a", "m:f", {"x": 2}).key != base.key
    assert Node("a", "m:f", {"x": 1}, calls=("m:g",)).key != base.key


def test_key_depends_on_the_code_of_the_function_and_of_what_it_calls(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def key(text, **more):
        (tmp_path / "planned_work.py").write_text(text)
        identity_of.cache_clear()
        return Node("a", more.pop("function", "planned_work:f"), {"x": 1}, **more).key

    assert key("a = 1\n") == key("a = 1\n") != key("a = 2\n")
    called = {"function": "m:f", "calls": ("planned_work:g",)}
    assert key("a = 1\n", **called) != key("a = 2\n", **called)


def test_key_depends_on_what_is_needed_however_deep():
    def chain(x):
        return Node("c", "m:f", needs={"b": Node("b", "m:f", needs={"a": Node("a", "m:f", {"x": x})})})

    assert chain(1).key == chain(1).key
    assert chain(1).key != chain(2).key


def test_role_is_part_of_the_key():
    a = Node("a", "m:f")
    assert Node("b", "m:f", needs={"left": a}).key != Node("b", "m:f", needs={"right": a}).key


def test_needed_nodes_come_first_and_equal_work_once():
    data = Node("data", "m:f", kind="artefact")
    plan = Plan([Node("x", "m:g", {"i": 1}, {"d": data}), Node("y", "m:g", {"i": 2}, {"d": data}), data])
    assert [node.name for node in plan] == ["data", "x", "y"]
    assert [node.name for node in plan.cells] == ["x", "y"]


def test_equal_work_under_two_names_is_two_cells():
    plan = Plan([Node("a x", "m:f", {"k": 1}), Node("b x", "m:f", {"k": 1}), Node("a x", "m:f", {"k": 1})])
    assert [node.name for node in plan] == ["a x"]
    assert [node.name for node in plan.cells] == ["a x", "b x"]


def test_one_name_for_two_nodes_is_refused():
    with pytest.raises(GnomonError, match="share a name"):
        Plan([Node("a", "m:f", {"x": 1}), Node("a", "m:f", {"x": 2})])


def test_arguments_must_be_plain():
    with pytest.raises(GnomonError, match="canonical JSON"):
        _ = Node("a", "m:f", {"x": object()}).key
