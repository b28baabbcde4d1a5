"""The part of ``gnomon demo`` that shows episodes; that it runs is tested with the command line."""

import pytest

from gnomon.cli.demo_ import spelled
from gnomon.core.options import build
from gnomon.suites.episode import SUITE, demo


def without(monkeypatch, *modules):
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name in modules else object())


@pytest.mark.parametrize("quick", [True, False])
def test_steps_are_commands_that_the_suite_understands(monkeypatch, tmp_path, quick):
    without(monkeypatch, "torch")
    steps = demo.steps(tmp_path, quick)
    assert [step.verb for step in steps] == ["simulate", "run"]
    for step in steps:
        build(SUITE.verb(step.verb).options, step.options)
    assert spelled(SUITE, steps[1]).startswith(f"gnomon run episode {tmp_path}")
    assert steps[1].options["systems"] == ("minimal,trivial",)
    assert steps[1].options["episodes"] == (steps[0].options["directory"],)


def test_neural_heads_are_shown_where_they_can_be_trained(monkeypatch, tmp_path):
    without(monkeypatch)
    assert "systems" not in demo.steps(tmp_path, quick=False)[1].options
    assert demo.steps(tmp_path, quick=True)[1].options["systems"] == ("minimal,trivial",)


@pytest.mark.parametrize("modules", [("h5py",), ("av",), ("h5py", "av")])
def test_without_the_extra_it_is_left_out_with_a_word(monkeypatch, capsys, tmp_path, modules):
    without(monkeypatch, *modules)
    assert demo.steps(tmp_path, quick=True) == []
    told = capsys.readouterr().err
    assert (
        told == f"episode: left out, since {' and '.join(modules)} cannot be imported; pip install 'gnomon[episode]'\n"
    )
