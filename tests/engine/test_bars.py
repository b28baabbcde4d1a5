"""Bars of progress: when they appear, where, and what stays of them; by hand, with displays that keep what is shown."""

import io
import sys
import threading
import time
import types

import pytest

from gnomon.engine import bars, progress
from gnomon.engine.job import work
from gnomon.engine.plan import Plan


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


class Handle:
    """What a notebook shows under one id."""

    def __init__(self, shown):
        self.shown = shown

    def update(self, text):
        self.shown.append(text)


@pytest.fixture
def notebook(monkeypatch):
    """A notebook that keeps what it displays; IPython itself is not needed."""
    shown = []
    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda content, display_id: Handle(shown)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


class Kept:
    """A bar that keeps what it is told."""

    def __init__(self):
        self.said = []
        self.there = threading.Event()

    def make(self):
        self.there.set()
        return self

    def show(self, done, total, text):
        self.said.append((done, total, text))

    def print(self, line):
        self.said.append(line)

    def close(self, text):
        self.said.append(f"closed: {text}")


def test_a_bar_appears_after_a_while_with_what_was_last_said(monkeypatch):
    monkeypatch.setattr(bars, "DELAY_S", 0.05)
    kept, stream = Kept(), io.StringIO()
    bar = bars.DelayedBar(kept.make, 9)
    bar.show(1, "one")
    bar.print("before", stream)
    assert kept.there.wait(5)
    bar.show(2, "two")
    bar.print("during", stream)
    bar.close("end")
    assert kept.said == [(1, 9, "one"), (2, 9, "two"), "during", "closed: end"]
    assert stream.getvalue() == "before\n"


def test_short_work_has_no_bar(monkeypatch):
    monkeypatch.setattr(bars, "DELAY_S", 0.05)
    kept = Kept()
    bar = bars.DelayedBar(kept.make, 9)
    bar.close("end")
    assert not kept.there.wait(0.2)
    assert kept.said == []


def test_two_seconds_are_the_limit():
    assert bars.DELAY_S == 2.0


def test_a_bar_on_a_terminal_leaves_only_what_was_printed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    bar = bars.TerminalBar(stream)
    bar.show(1, 4, "1 of 4 done, now: [bold]x")
    bar.print("c1: failed: [red]no")
    bar.close("")
    text = stream.getvalue()
    assert "1 of 4 done, now: [bold]x" in text
    assert "c1: failed: [red]no\n" in text
    assert text.endswith("\x1b[2K")  # the line of the bar is erased


def test_a_notebook_is_known_by_its_kernel(notebook, monkeypatch):
    assert bars.in_notebook()
    assert bars.find_bar(None) is bars.NotebookBar
    assert bars.find_bar(io.StringIO()) is None  # a log that was asked for stays a log
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: object())  # the shell of a terminal
    assert not bars.in_notebook()


def test_without_anybody_who_looks_on_there_is_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert bars.find_bar(None) is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert bars.find_bar(None) is not None
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert bars.find_bar(None) is None


def test_a_notebook_shows_a_bar_and_keeps_the_closing_line(notebook, monkeypatch, node, options):
    monkeypatch.setattr(bars, "DELAY_S", 0.05)
    work(Plan([node(f"c<{i}>", seconds=0.15) for i in range(3)]), options())
    assert any(text.startswith('<progress value="1" max="3"></progress> 1 of 3 done') for text in notebook)
    assert not any("c<" in text for text in notebook)
    assert notebook[-1].startswith("3 of 3 done in ")


def test_work_in_python_that_nobody_looks_at_says_nothing(monkeypatch, capsys, node, options):
    monkeypatch.setattr(bars, "DELAY_S", 0.05)
    work(Plan([node("a", seconds=0.15), node("bad", "fail")]), options())
    assert capsys.readouterr() == ("", "")


def test_work_in_python_on_a_terminal_leaves_no_line(monkeypatch, node, options):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    work(Plan([node("a")]), options())
    assert stream.getvalue() == ""


def test_what_a_node_tells_is_shown_in_the_bar(monkeypatch):
    kept = Kept()
    monkeypatch.setattr(bars, "DELAY_S", 0.0)
    monkeypatch.setattr(progress, "find_bar", lambda stream: kept.make)
    assert not progress.note("nothing is done")
    with progress.Progress(5, done=2):
        assert kept.there.wait(5)
        assert progress.note("fit: epoch 3 of 10")
    assert (2, 5, "2 of 5 done, fit: epoch 3 of 10") in kept.said
    assert not progress.note("nothing is done")


def test_work_without_a_number_pulses_and_leaves_nothing(notebook, monkeypatch):
    monkeypatch.setattr(bars, "DELAY_S", 0.05)
    with progress.pulse("scoring 2 systems"):
        time.sleep(0.2)
    assert notebook == ["<progress></progress> scoring 2 systems", ""]
    with progress.Progress(1), progress.pulse("inside of other work"):
        time.sleep(0.1)
    assert not any("inside" in text for text in notebook)


def test_parts_are_shown_in_a_bar(monkeypatch):
    kept = Kept()
    monkeypatch.setattr(bars, "DELAY_S", 0.0)
    monkeypatch.setattr(progress, "find_bar", lambda stream: kept.make)

    def parts():
        assert kept.there.wait(5)
        yield from ("a", "b")

    assert list(progress.told(parts(), 2, "rooms")) == ["a", "b"]
    assert any(isinstance(said, tuple) and said[2].startswith("1 of 2 rooms (a), ") for said in kept.said)
    assert kept.said[-1] == "closed: 2 rooms"
