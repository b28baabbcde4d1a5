"""Entry points are made in the test; the installed ones are used only to check that they load."""

import dataclasses
import re
import sys
import types
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from gnomon.core import registry
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.suite import Suite
from gnomon.measures.classification import F1, Accuracy, Kappa

TOY = Suite("toy", "a toy", {}, "")


@pytest.fixture
def plug_in(monkeypatch):
    """Replace the installed plug-ins by (group, name, content of the module, value) and forget them afterwards."""

    def install(*given):
        points = []
        for index, (group, name, content, value) in enumerate(given):
            module = types.ModuleType(f"plug_in_{index}")
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, module.__name__, module)
            points.append(EntryPoint(name, value.format(module=module.__name__), group))
        found = EntryPoints(points)
        monkeypatch.setattr(registry, "entry_points", lambda *, group: found.select(group=group))
        forget()

    def forget():
        for cached in (registry.suites, registry.measures, registry.broken, registry._attempts):
            cached.cache_clear()

    yield install
    monkeypatch.undo()
    forget()


def suite_point(name="toy", value="{module}:SUITE", **content):
    return registry.SUITES, name, content or {"SUITE": TOY}, value


def measure_point(name="accuracy", value="{module}:MEASURES", **content):
    return registry.MEASURES, name, content or {"MEASURES": (Accuracy(), F1())}, value


def test_everything_that_is_installed_with_the_package_loads():
    assert "labels" in registry.suites()
    assert not [item for item in registry.broken() if item.source == "gnomon"]


def test_suites_and_measures_are_found(plug_in):
    plug_in(suite_point(), measure_point())
    assert registry.suites() == {"toy": TOY}
    assert registry.suite("toy") is TOY
    assert registry.measures() == (Accuracy(), F1())
    assert registry.broken() == ()


@pytest.mark.parametrize(
    ("point", "why"),
    [
        (suite_point("bad", "no_such_module_anywhere:SUITE"), "ModuleNotFoundError: .*no_such_module_anywhere"),
        (suite_point("bad", "{module}:NOTHING"), "AttributeError: .*NOTHING"),
        (suite_point("bad", SUITE="not a suite"), "expected a Suite, but got str"),
        (measure_point("bad", MEASURES=Accuracy()), "expected a tuple of measures, but got Accuracy"),
        (measure_point("bad", MEASURES=(Accuracy(), "x")), "expected a tuple of measures"),
        (measure_point("bad", "{module}:NOTHING"), "AttributeError"),
    ],
)
def test_a_broken_plug_in_is_named_and_skipped(plug_in, point, why):
    plug_in(point, suite_point(), measure_point())
    assert set(registry.suites()) == {"toy"}
    assert registry.measures() == (Accuracy(), F1())
    (broken,) = registry.broken()
    assert broken.name == "bad"
    assert broken.group == point[0]
    assert re.search(why, str(broken))


def test_a_plug_in_that_raises_while_it_is_imported_is_skipped(plug_in, tmp_path, monkeypatch):
    (tmp_path / "raises_on_import.py").write_text("raise RuntimeError('half installed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    plug_in(suite_point("bad", "raises_on_import:SUITE"), suite_point())
    assert set(registry.suites()) == {"toy"}
    assert "RuntimeError: half installed" in str(registry.broken()[0])


@pytest.mark.parametrize("code", ["", "'give up'", "0"])
def test_a_plug_in_that_leaves_the_program_while_it_is_imported_is_skipped(plug_in, tmp_path, monkeypatch, code):
    (tmp_path / "leaves_on_import.py").write_text(f"import sys\nsys.exit({code})\n")
    monkeypatch.syspath_prepend(tmp_path)
    plug_in(suite_point("bad", "leaves_on_import:SUITE"), suite_point())
    assert set(registry.suites()) == {"toy"}
    (broken,) = registry.broken()
    assert (broken.name, broken.why.split(":")[0]) == ("bad", "SystemExit")


def test_an_interruption_is_not_taken_for_a_broken_plug_in(plug_in, tmp_path, monkeypatch):
    (tmp_path / "interrupted_on_import.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    plug_in(suite_point("bad", "interrupted_on_import:SUITE"))
    with pytest.raises(KeyboardInterrupt):
        registry.suites()


def test_a_second_suite_of_the_same_name_is_named_and_skipped(plug_in):
    other = Suite("toy", "another toy", {}, "")
    plug_in(suite_point(), suite_point(SUITE=other), suite_point("third"))
    assert registry.suites() == {"toy": TOY, "third": TOY}
    assert registry.suite("toy") is TOY
    (broken,) = registry.broken()
    assert (broken.name, broken.source, broken.why) == ("toy", "plug_in_1:SUITE", "another plug-in has this name")


def test_second_measures_of_the_same_name_are_named_and_skipped(plug_in):
    plug_in(measure_point(), measure_point(MEASURES=(Kappa(),)))
    assert registry.measures() == (Accuracy(), F1())
    assert [item.why for item in registry.broken()] == ["another plug-in has this name"]


def test_a_suite_and_measures_may_have_the_same_name(plug_in):
    plug_in(suite_point("same"), measure_point("same"))
    assert registry.broken() == ()


def test_a_second_plug_in_that_is_broken_says_why(plug_in):
    plug_in(suite_point(), suite_point(SUITE=3))
    assert registry.suites() == {"toy": TOY}
    assert [item.why for item in registry.broken()] == ["expected a Suite, but got int"]


@pytest.mark.parametrize("value", ["{module}:NOTHING", "{module}:SUITE"], ids=["does not load", "is no suite"])
def test_a_broken_plug_in_does_not_take_the_name_of_a_good_one(plug_in, value):
    other = Suite("toy", "another toy", {}, "")
    plug_in(suite_point(value=value, SUITE=3), suite_point(), suite_point(SUITE=other))
    assert registry.suites() == {"toy": TOY}
    assert registry.suite("toy") is TOY
    first, second = registry.broken()
    assert (first.source, first.name) == (value.format(module="plug_in_0"), "toy")
    assert first.why != "another plug-in has this name"
    assert (second.source, second.why) == ("plug_in_2:SUITE", "another plug-in has this name")


def test_asking_for_a_broken_suite_says_why_it_is_broken(plug_in):
    plug_in(suite_point("bad", SUITE=3), suite_point())
    with pytest.raises(InputError, match=r"plug-in 'bad' .* is skipped: expected a Suite, but got int"):
        registry.suite("bad")


def test_asking_for_an_unknown_suite_names_the_installed_ones(plug_in):
    plug_in(suite_point(), suite_point("another"))
    with pytest.raises(InputError, match="no suite 'nothing'; installed are another, toy"):
        registry.suite("nothing")


def test_a_broken_measure_of_the_same_name_does_not_explain_a_missing_suite(plug_in):
    plug_in(measure_point("nothing", MEASURES=3), suite_point())
    with pytest.raises(InputError, match="no suite 'nothing'"):
        registry.suite("nothing")


def test_plug_ins_are_looked_up_once(plug_in, monkeypatch):
    plug_in(suite_point())
    first = registry.suites()
    monkeypatch.setattr(registry, "entry_points", lambda *, group: pytest.fail("looked up again"))
    assert registry.suites() is first


def test_clearing_the_caches_shows_what_is_installed_now(plug_in):
    plug_in(suite_point("first"), suite_point("bad", SUITE=3))
    assert set(registry.suites()) == {"first"}
    plug_in(suite_point("second"))
    assert set(registry.suites()) == {"second"}
    assert registry.broken() == ()
    assert registry.measures() == ()


@pytest.mark.parametrize("measure", [Accuracy(), F1(), F1("weighted", ("a", "b"), None), F1("micro", "present", 1)])
def test_a_measure_is_rebuilt_from_its_record(plug_in, measure):
    plug_in(measure_point())
    assert registry.measure(measure.record()) == measure


def test_a_measure_that_is_not_installed_is_named(plug_in):
    plug_in(measure_point())
    record = {"type": "Hits", "family": "retrieval", "parameters": {}}
    with pytest.raises(GnomonError, match=r"'Hits' of family 'retrieval' is not installed; .* classification"):
        registry.measure(record)


def test_a_measure_of_another_family_is_not_taken_for_it(plug_in):
    plug_in(measure_point())
    with pytest.raises(GnomonError, match="not installed"):
        registry.measure({**Accuracy().record(), "family": "multilabel"})


def test_measures_whose_classes_have_one_name_are_told_apart(plug_in):
    """The class of another plug-in has other parameters; asking it would fail."""

    @dataclasses.dataclass(frozen=True)
    class Other(F1):
        place: str = ""

        def __post_init__(self):
            object.__setattr__(self, "family", "others")

    @dataclasses.dataclass(frozen=True)
    class Another(Kappa):
        which: str = ""

        def __post_init__(self):
            object.__setattr__(self, "family", "further")

    Other.__name__ = Another.__name__ = "Same"
    plug_in(
        ("gnomon.measures", "a", {"MEASURES": (Another(),)}, "{module}:MEASURES"),
        ("gnomon.measures", "b", {"MEASURES": (Other(),)}, "{module}:MEASURES"),
    )
    for measure in (Other("macro", place="here"), Another("there")):
        assert registry.measure(measure.record()) == measure


def test_every_registered_measure_is_rebuilt_from_its_record():
    for measure in registry.measures():
        assert registry.measure(measure.record()) == measure
