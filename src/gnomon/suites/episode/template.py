"""Verb ``template``: a small simulated episode and answers to tasks of it, to be replaced by one's own.

``DIR/episodes`` holds one episode of fifteen seconds with nothing missing, ``DIR/predictions`` what an example answers
for its test samples: ``labels.csv`` for four tasks, of which every fourth answer is that of the sample before, and
``hand_trajectory_forecast.npz`` with hands a centimetre or so off. ``DIR/README.md`` has the command that scores it.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from gnomon.core.seeds import generator
from gnomon.intake.writing import write_table
from gnomon.suites.episode import layout
from gnomon.suites.episode.folders import LABELS
from gnomon.suites.episode.given import SEPARATOR
from gnomon.suites.episode.options import SEED, SimulateOptions, TemplateOptions
from gnomon.suites.episode.simulate import simulate
from gnomon.suites.episode.tasks.declared import FORECAST, TASKS
from gnomon.suites.episode.tasks.sampling import TaskData, build
from gnomon.suites.episode.tasks.splitting import TEST
from gnomon.suites.episode.unread import read_truth

FRAMES, PIXELS, SCRIPT = 300, 32, 5
"""Size of the episode, and the seed of a script that has several actions on both sides of the cut."""
LABELLED = ("timeline_action", "transition_detection", "object_relevance", "temporal_order")
SLIPS = 4
"""Every so many samples the example repeats its answer to the one before."""
OFF_M = 0.01
README = """# An example for `gnomon score episode`

    {command}

`episodes` is a simulated episode, `predictions` what a made-up system answers for its test samples. Put your own
episodes in place of the first, and in place of the second a table, or a folder with

- `labels.csv` (or .parquet, .jsonl): `task, sample, label`; names of objects with `|` between them;
- `TASK.npz` for tasks that are answered by vectors: `samples` (n,) text, `values` (n, d) numbers.

`gnomon run episode EPISODE_DIR... --systems random` lists the test samples of every task in `predictions.parquet`.
"""


def template(options: TemplateOptions) -> list[Path]:
    """Write an episode, answers of an example and the command that scores them; return their paths."""
    folder = Path(options.directory)
    episodes, answers, readme = folder / "episodes", folder / "predictions", folder / "README.md"
    made = simulate(
        SimulateOptions(directory=str(episodes), episodes=1, frames=FRAMES, videos=PIXELS, gaps="none", seed=SCRIPT)
    )
    answers.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gnomon-") as held:
        recorded, _ = read_truth(layout.find(made), "strict", (), Path(held))
        data = {task: build(TASKS[task], recorded, "strict") for task in (*LABELLED, FORECAST)}
        paths = [answers / f"{LABELS}.csv", answers / f"{FORECAST}.npz"]
        write_table(_labels([data[task] for task in LABELLED]), paths[0])
        _write_vectors(data[FORECAST], paths[1])
    given = ["--truth", str(episodes), "--predictions", f"example={answers}"]
    command = shlex.join(["gnomon", "score", "episode", *given])
    readme.write_text(README.format(command=command), encoding="utf-8")
    return [*made, *paths, readme]


def _labels(tasks: Sequence[TaskData]) -> pa.Table:
    rows = []
    for data in tasks:
        test = data.of(TEST).tolist()
        truth = [SEPARATOR.join(sorted(data.sets[row])) if data.sets else data.labels[row] for row in test]
        said = [truth[place - (place % SLIPS == SLIPS - 1)] for place in range(len(test))]
        rows += [(data.task.name, data.ids[row], label) for row, label in zip(test, said, strict=True)]
    columns = zip(*rows, strict=True)
    return pa.table({name: list(column) for name, column in zip(("task", "sample", "label"), columns, strict=True)})


def _write_vectors(data: TaskData, path: Path) -> None:
    test = data.of(TEST)
    truth = data.y(test)
    noise = generator(SEED, "template").normal(0.0, OFF_M, truth.shape)
    samples = np.array([data.ids[row] for row in test.tolist()])
    np.savez_compressed(path, samples=samples, values=(truth + noise).round(4).astype(np.float32))
