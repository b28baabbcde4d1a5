"""A flipped byte anywhere in a run directory is found by ``gnomon verify``.

Every byte of every file is flipped and the seal, which ``verify`` checks first, must object; a random sample
of the flips goes through the whole command.
"""

import contextlib
import io
import random
import tempfile
from pathlib import Path

import gnomon
from acceptance.support import Promise
from gnomon.cli.main import main as command
from gnomon.runs import seal

SAMPLE = 300


def small_run(folder: Path) -> Path:
    truth = {"id": list("123456"), "label": list("aabbab"), "group": list("xxyyzz")}
    guess = {"id": list("123456"), "label": list("abbbaa")}
    path = gnomon.score("labels", truth, guess, out=folder).runs[0].path
    assert path is not None
    return path


def exit_code(path: Path) -> int:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            command(["verify", str(path)])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def flip(path: Path, content: bytes, position: int, bit: int) -> None:
    damaged = bytearray(content)
    damaged[position] ^= 1 << bit
    path.write_bytes(damaged)


def main() -> None:
    promise, dice = Promise(), random.Random(7)
    with tempfile.TemporaryDirectory() as temporary:
        run = small_run(Path(temporary))
        promise.figure("verify of the intact run, exit code", exit_code(run), "0", exit_code(run) == 0)
        files = {path: path.read_bytes() for path in sorted(run.iterdir())}
        places = [(path, i) for path, content in files.items() for i in range(len(content))]
        missed = 0
        for path, position in places:
            flip(path, files[path], position, dice.randrange(8))
            missed += not seal.problems(run)
            path.write_bytes(files[path])
        promise.figure("flips of every byte missed by the seal", f"{missed} of {len(places)}", "0", missed == 0)
        missed = 0
        for path, position in dice.sample(places, SAMPLE):
            flip(path, files[path], position, dice.randrange(8))
            missed += exit_code(run) == 0
            path.write_bytes(files[path])
        promise.figure("sampled flips missed by the command", f"{missed} of {SAMPLE}", "0", missed == 0)
        promise.figure("verify after restoring, exit code", exit_code(run), "0", exit_code(run) == 0)
    promise.close()


if __name__ == "__main__":
    main()
