"""What ``gnomon demo`` says: commands that can be given as they stand, and the plainest suite first."""

import re
import shlex

import click
import pytest

from gnomon.cli.building import SuiteGroup
from gnomon.cli.demo_ import ORDER, demonstrated, spelled
from gnomon.cli.main import gnomon, main
from gnomon.core import registry
from gnomon.core.options import build
from gnomon.core.suite import Step, Suite, load

SHOWN = [(name, quick) for name, suite in sorted(registry.suites().items()) if suite.demo for quick in (True, False)]


def demonstrate(capsys, folder, *arguments):
    """Return what a demonstration prints."""
    with pytest.raises(SystemExit) as left:
        main(["demo", "--quick", "--out", str(folder), *arguments])
    assert left.value.code == 0
    return capsys.readouterr().out


def printed(text):
    """Return the commands in what a demonstration prints: those that were done, and those to open next."""
    done = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    following = re.findall(r"^  (gnomon .*?)  ", text.partition("Open next:")[2], re.MULTILINE)
    assert done
    assert following
    return done + following


def taken(line):
    """Parse a command as the command line would, without doing it."""
    program, verb, *words = shlex.split(line)
    assert program == "gnomon"
    command = gnomon.get_command(click.Context(gnomon), verb)
    if isinstance(command, click.Group):
        suite, *words = words
        command = command.get_command(click.Context(command), suite)
    return command.make_context(verb, words)


@pytest.mark.parametrize(("name", "quick"), SHOWN)
def test_every_step_is_a_command_that_means_the_same(tmp_path, name, quick):
    suite = registry.suite(name)
    for step in load(suite.demo)(tmp_path / "with space", quick):
        given = []
        group = SuiteGroup(step.verb, lambda suite, options, _, given=given: given.append((suite.name, options)))
        program, verb, *words = shlex.split(spelled(suite, step))
        assert (program, verb) == ("gnomon", step.verb)
        group.main(words, standalone_mode=False)
        options = suite.verb(verb).options
        assert [(own, build(options, values)) for own, values in given] == [(name, build(options, step.options))]


def test_a_flag_has_no_value():
    suite = registry.suite("skeleton")
    given = {"pred_file": ("a b.npz",), "ablation": True}
    assert spelled(suite, Step("run", given)) == "gnomon run skeleton --pred-file 'a b.npz' --ablation"
    assert spelled(suite, Step("run", {**given, "ablation": False})) == "gnomon run skeleton --pred-file 'a b.npz'"


def test_the_plainest_suite_is_the_first_and_unknown_ones_are_the_last():
    shown = [suite.name for suite in demonstrated(registry.suites().values())]
    assert [name for name in shown if name in ORDER] == ["labels", "events", "har", "skeleton", "change", "episode"]
    others = [Suite(name, "", {}, "", demo=demo) for name, demo in (("b", "m:f"), ("a", "m:f"), ("c", ""))]
    assert [suite.name for suite in demonstrated([*others, registry.suite("change")])] == ["change", "a", "b"]


def test_commands_that_are_printed_can_be_given(capsys, tmp_path):
    lines = printed(demonstrate(capsys, tmp_path / "with space", "--suite", "labels"))
    verbs = [line.split()[1] for line in lines]
    assert verbs[:4] == ["simulate", "score", "run", "verify"]
    assert {"report", "serve", "compare", "template"} <= set(verbs)
    for line in lines:
        taken(line)


@pytest.mark.slow
def test_the_whole_demonstration(capsys, tmp_path):
    text = demonstrate(capsys, tmp_path / "demo")
    assert re.search(r"(\d+) of \1 runs verified", text)
    lines = printed(text)
    suites = [words[2] for line in lines if (words := shlex.split(line))[1] in ("simulate", "run", "score")]
    assert list(dict.fromkeys(name for name in suites if name in ORDER)) == [name for name in ORDER if name in suites]
    assert suites[0] == "labels"
    for line in lines:
        taken(line)
