"""The registry of systems: what is found, made and refused. Expected values: by hand."""

import pytest

from gnomon.core.errors import InputError
from gnomon.core.systems import Systems, parse

OWN = """
class Mine:
    def __init__(self, weights: str = "", level: float = 0.5):
        self.weights, self.level = weights, level
    def answer(self): ...

class Needs(Mine):
    def __init__(self, folder: str):
        self.folder = folder

class Hooked(Mine):
    trivial = True
    @staticmethod
    def identify_parameters(*, weights: str = "") -> str:
        return f"hash of {weights}"

class Other(Mine):
    @staticmethod
    def identify_parameters():
        return ["no text"]

class Narrow(Mine):
    @staticmethod
    def identify_parameters(text):
        return text

class Plain(Mine):
    def identify_parameters(self):
        raise RuntimeError("a method of instances is not asked")

class Silent:
    pass

def make(level: float = 1.0):
    return Mine(level=level)
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    systems = Systems({}, ("answer",))
    return lambda text: (systems, f"{tmp_path}/own.py:{text}")


def test_a_system_is_made_with_its_parameters(own):
    systems, name = own("Mine@level=1")
    assert systems.make(name).level == 1.0
    systems, name = own("make@level=3")
    assert systems.make(name).level == 3.0
    assert systems.parameters(parse(name).name) == {"level": 1.0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Mine@nothing=1", "has no parameter 'nothing'; it has 'weights', 'level'"),
        ("Mine@level=high", r"parameter 'level': expected a number \(default 0.5\), but got 'high'"),
        ("Needs", "cannot be made without 'folder': give .*Needs@folder=..."),
        ("Silent", "expected a class with answer"),
        ("Absent", "expected a class with answer, or a function that returns such an object"),
    ],
)
def test_what_cannot_be_made_is_refused_before_any_work(own, text, why):
    systems, name = own(text)
    with pytest.raises(InputError, match=why):
        systems.parse([name])


def test_none_given():
    with pytest.raises(InputError, match="no recognizer given: --recognizers NAME"):
        Systems({}, (), what="recognizer", option="--recognizers").parse([" "])


def test_identity_holds_the_text_the_code_and_what_parameters_name(own):
    systems, name = own("Hooked@weights=w")
    known = systems.identity(parse(name))
    assert known["system"] == name
    assert known["identity"].startswith("Hooked:")
    assert known["content"] == "hash of w"
    assert systems.declares(parse(name), "trivial")
    for text in ("Mine", "Plain"):
        systems, name = own(text)
        assert "content" not in systems.identity(parse(name))
        assert not systems.declares(parse(name), "trivial")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Other", r"identify_parameters\(\) returned list: identify_parameters\(\*\*parameters\) returns the hash"),
        ("Narrow", r"identify_parameters\(\) cannot be called with its parameters"),
    ],
)
def test_a_hook_that_does_something_else_is_refused(own, text, why):
    systems, name = own(text)
    with pytest.raises(InputError, match=why):
        systems.identity(parse(name))
