"""Work under way is read from the file that the engine appends to, however it ends."""

import asyncio
import json
import os
import time

import pytest

from gnomon.dashboard import live
from gnomon.dashboard.library import Library

NOW = 1_700_000_000.0


def written(folder, events, *, tail=""):
    path = folder / "store" / live.NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"time": NOW - 10 + n, "name": "", "total": 4, "done": 0, "failed": 0, **e})
        for n, e in enumerate(events)
    ]
    path.write_text("\n".join(lines) + "\n" + tail)
    os.utime(path, (NOW, NOW))
    return path


def found(tmp_path, now=NOW):
    return live.under_way(Library(tmp_path), now)


PLAN = {"event": "plan"}
STARTED = {"event": "started", "name": "cell one"}


def test_counts_and_what_it_is_at(tmp_path):
    written(tmp_path / "runs", [PLAN, {"event": "done", "name": "a", "done": 1}, {**STARTED, "done": 1}])
    (work,) = found(tmp_path)
    assert (work.folder, work.state, work.done, work.total, work.now) == ("runs", "running", 1, 4, ("cell one",))


def test_progress_inside_a_cell_is_told(tmp_path):
    told = {"event": "told", "name": "cell one", "text": "epoch 3 of 9"}
    written(tmp_path, [PLAN, STARTED, told])
    assert found(tmp_path)[0].said == "cell one: epoch 3 of 9"


def test_only_the_last_plan_counts(tmp_path):
    written(tmp_path, [PLAN, {"event": "done", "name": "a", "done": 4}, {"event": "end", "done": 4}, PLAN, STARTED])
    assert (found(tmp_path)[0].done, found(tmp_path)[0].state) == (0, "running")


@pytest.mark.parametrize(("interrupted", "state"), [(True, "interrupted"), (False, "ended")])
def test_how_it_ended(tmp_path, interrupted, state):
    written(tmp_path, [PLAN, {"event": "end", "interrupted": interrupted, "done": 4}])
    assert found(tmp_path)[0].state == state


def test_work_that_died_without_a_word_is_said_to_be_quiet(tmp_path):
    path = written(tmp_path, [PLAN, STARTED])
    os.utime(path, (NOW, NOW))
    assert found(tmp_path, NOW + live.QUIET + 60)[0].state == "quiet"


def test_what_ended_long_ago_is_not_shown(tmp_path):
    written(tmp_path, [PLAN, {"event": "end", "done": 4}])
    assert found(tmp_path, NOW + live.JUST + 60) == []
    assert found(tmp_path, NOW + live.RECENT + 60) == []


def test_an_unfinished_line_and_rubbish_are_passed_over(tmp_path):
    written(tmp_path, [PLAN, STARTED], tail='[[[[\n{"event": 3}\n{"event": "do')
    assert found(tmp_path)[0].now == ("cell one",)


def test_a_linked_file_is_not_read(tmp_path):
    written(tmp_path / "elsewhere", [PLAN, STARTED])
    (tmp_path / "runs" / "store").mkdir(parents=True)
    (tmp_path / "runs" / "store" / live.NAME).symlink_to(tmp_path / "elsewhere" / "store" / live.NAME)
    assert live.under_way(Library(tmp_path / "runs"), NOW) == []


def test_a_long_file_is_read_from_its_end(tmp_path):
    many = [{"event": "done", "name": f"cell {n}", "done": n, "total": 9999} for n in range(5000)]
    written(tmp_path, [PLAN, *many])
    assert found(tmp_path)[0].done == 4999


def test_a_change_is_sent_as_an_event(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", 0.01)
    path = written(tmp_path, [{**PLAN, "time": time.time()}, {**STARTED, "time": time.time()}])
    os.utime(path)
    chunk = asyncio.run(anext(live.stream(Library(tmp_path))))
    assert chunk.startswith(b"event: work\ndata: ")
    assert json.loads(chunk.split(b"data: ")[1])["works"][0]["now"] == ["cell one"]
