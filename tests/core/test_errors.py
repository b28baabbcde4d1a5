"""Expected texts are written by hand."""

import pytest

from gnomon.core.errors import GnomonError, InputError, IntegrityError, MissingExtraError, WorkError, instead, some


@pytest.mark.parametrize(
    ("error", "code"),
    [(GnomonError, 1), (InputError, 2), (MissingExtraError, 2), (IntegrityError, 1), (WorkError, 1)],
)
def test_every_error_is_a_gnomon_error_with_its_exit_code(error, code):
    assert issubclass(error, GnomonError)
    assert error("x").exit_code == code


@pytest.mark.parametrize(("error", "builtin"), [(InputError, ValueError), (MissingExtraError, ImportError)])
def test_errors_are_also_what_python_users_expect_to_catch(error, builtin):
    with pytest.raises(builtin, match="reason"):
        raise error("reason")


def test_other_errors_are_not_value_errors():
    assert not issubclass(IntegrityError, ValueError)
    assert not issubclass(WorkError, ValueError)


@pytest.mark.parametrize(
    ("items", "options", "text"),
    [
        ([], {}, ""),
        (["a"], {}, "'a'"),
        ([1, 2], {}, "1, 2"),
        (["a", "b", "c"], {"show": 2}, "'a', 'b' and 1 more (3 in all)"),
        (range(5), {}, "0, 1, 2, 3, 4"),
        (range(6), {}, "0, 1, 2, 3, 4 and 1 more (6 in all)"),
        (["a", "b"], {"total": 2}, "'a', 'b'"),
        (["a", "b"], {"total": 100}, "'a', 'b' and 98 more (100 in all)"),
    ],
)
def test_some_names_the_first_items_and_counts_the_rest(items, options, text):
    assert some(items, **options) == text


def test_some_takes_any_iterable():
    assert some(x for x in "ab") == "'a', 'b'"


def test_some_shortens_a_long_item_to_80_characters():
    shown = some(["x" * 500])
    assert len(shown) == 80
    assert shown == "'" + "x" * 78 + "…"


def test_some_shows_control_characters_escaped():
    assert some(["a\nb"]) == r"'a\nb'"


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("lable", ["events", "labels"], "did you mean 'labels'? There are events, labels"),
        ("x", ["events", "labels"], "there are events, labels"),
        ("x", iter(["a"]), "there are a"),
        ("x", [], "there are none"),
    ],
)
def test_what_there_is_instead(name, known, text):
    assert instead(name, known) == text
