"""Run directories with changed bytes: whatever the bytes are, every command ends with a result or an error of its own.

A change that leaves a run readable is still found by ``verify``, since the seal covers every byte.
"""

import random
import shutil

import pytest
from acceptance import hostile

from gnomon.cli.main import main
from gnomon.runs.verify import verify

CHANGES = 12
"""Damaged copies for each seed; all commands take about a tenth of a second on one."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return two runs of one suite, and one that keeps cases to look at."""
    root = tmp_path_factory.mktemp("good")
    first, second = hostile.make_good(root / "labels")
    return first, second, hostile.make_events(root / "events")


def damage(data: bytes, chance: random.Random) -> bytes:
    """Flip, set, remove, insert or repeat some bytes, or cut the rest off."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(out)) if out else 0
        kind = chance.choice(("flip", "flip", "set", "digit", "remove", "insert", "repeat", "cut"))
        if kind == "flip" and out:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == "set" and out:
            out[at] = chance.choice((0, 0x7F, 0x80, 0xFF, 0x5B, 0x7B))
        elif kind == "digit" and out:
            digits = [place for place, byte in enumerate(out) if 0x30 <= byte <= 0x39] or [at]
            out[chance.choice(digits)] = chance.choice(b"0123456789-e")
        elif kind == "remove":
            del out[at : at + chance.randint(1, 40)]
        elif kind == "insert":
            out[at:at] = chance.randbytes(chance.randint(1, 8))
        elif kind == "repeat":
            out[at:at] = out[at : at + 200] * chance.randint(1, 20)
        else:
            del out[at:]
    return bytes(out)


def commands(folder, beside):
    """Return the commands that read a run."""
    return [
        ["list", "runs", "--runs", str(folder.parent)],
        ["report", str(folder)],
        ["compare", str(beside), str(folder)],
        ["audit", str(folder)],
    ]


def call(command, capsys):
    """Call a command in this process; return its exit code once it said nothing of an internal error."""
    with pytest.raises(SystemExit) as left:
        main(command)
    said = "".join(capsys.readouterr())
    assert left.value.code in (0, 1, 2), (command, said)
    assert "internal error" not in said, (command, said)
    assert "Traceback" not in said, (command, said)
    return left.value.code


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reseal", [False, True], ids=["with the old seal", "sealed anew"])
def test_changed_bytes_end_in_errors_of_the_project(runs, tmp_path, capsys, seed, reseal):
    chance = random.Random(f"{seed} {reseal}")
    refused = 0
    for number in range(CHANGES):
        source = chance.choice(runs[1:])
        folder = tmp_path / str(number) / source.name
        shutil.copytree(source, folder)
        path = chance.choice(sorted(folder.iterdir()))
        before = path.read_bytes()
        path.write_bytes(damage(before, chance))
        if path.read_bytes() == before:
            continue
        if reseal:
            (folder / hostile.seal.NAME).write_bytes(hostile.seal.make(folder))
        checks = verify(folder)
        if not reseal:
            assert not all(check.passed for check in checks), f"{path.name}: a changed byte was not seen"
        beside = runs[0] if source is runs[1] else source
        refused += sum(call(command, capsys) > 0 for command in commands(folder, beside))
    assert refused > CHANGES // 4
