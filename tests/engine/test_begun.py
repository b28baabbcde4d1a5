"""What a node keeps while it is being done: there after a death, gone when done or failed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from gnomon.engine.begun import begun, tell
from gnomon.engine.plan import Node
from gnomon.engine.store import Store
from gnomon.engine.work import Order, carry_out


def slowly(arguments, needs, out):
    """Count to ten over several lives: each goes on from what the one before kept, and dies once on its way."""
    folder = begun()
    path = folder / "count"
    count = int(path.read_text()) if path.exists() else 0
    lives = folder / "lives"
    lives.write_text(str(int(lives.read_text()) + 1 if lives.exists() else 1))
    while count < 10:
        count += 1
        path.write_text(str(count))
        if count in arguments["deaths"]:
            os.kill(os.getpid(), signal.SIGKILL)
    (out / "result").write_text(f"{count} in {lives.read_text()} lives")


def wrongly(arguments, needs, out):
    (begun() / "kept").write_text("x")
    tell("half way")
    raise ValueError("no")


def node(function, **arguments):
    return Node(function, f"tests.engine.test_begun:{function}", arguments)


LIFE = """
import sys
sys.path.insert(0, {root!r})
from gnomon.engine.store import Store
from gnomon.engine.work import Order, carry_out
from tests.engine.test_begun import node
reply = carry_out(Store({store!r}), Order.of(node("slowly", deaths=[3, 7]), False))
sys.exit(0 if reply.state == "done" else 9)
"""


def test_what_was_begun_outlives_the_process(tmp_path):
    root = str(Path(__file__).parents[2])
    script = LIFE.format(root=root, store=str(tmp_path))
    codes = [subprocess.run([sys.executable, "-c", script], check=False).returncode for _ in range(3)]
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0]
    key = node("slowly", deaths=[3, 7]).key
    assert (Store(tmp_path).path(key) / "result").read_text() == "10 in 3 lives"
    assert not (tmp_path / "begun" / key).exists()


def test_an_error_takes_it_away_and_lines_are_told(tmp_path, capsys):
    order = Order.of(node("wrongly"), False)
    assert carry_out(Store(tmp_path), order).state == "error"
    assert not (tmp_path / "begun" / order.key).exists()
    assert "wrongly: half way" in capsys.readouterr().err
    (line,) = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert {key: json.loads(line)[key] for key in ("event", "name", "text")} == {
        "event": "told",
        "name": "wrongly",
        "text": "half way",
    }


def test_outside_of_a_node_there_is_nothing():
    assert begun() is None
    tell("nobody hears it")
