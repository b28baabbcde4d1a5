"""Training, the same for all neural models: one loop, which a killed process takes up where it was.

Conventions
-----------
- ``batches(epoch)`` gives the batches of an epoch and depends on nothing but the epoch, so that they can be given
  again; :func:`shuffled` is made so. A batch is a tensor or array, or a tuple of them; the first has a row per window.
- Everything that is learned or counted up belongs to a module: what ``state_dict()`` leaves out is lost with a process.
- Loss and dropout draw from torch's own generator, which is seeded from the seed and the name, kept with every
  checkpoint, and as it was before when the loop ends.
- An epoch begins in training mode, whatever the validation before it left behind.
- A scheduler steps after every update. Its state has to be plain data.

Inside a node of the engine the loop keeps a checkpoint about every :data:`KEEP_S` seconds, in the middle of an epoch
too, and one when it ends. On one machine, with one number of threads, what is learned on a CPU is the same to the last
bit, whether the process was killed on the way or not. Checkpoints and models are safetensors, never pickles.

Weights of modules: taken out, put back, compared, and kept as safetensors (never as pickles).
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, IntegrityError, WorkError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.engine.begun import begun, tell
from gnomon.engine.torches import checkpoint_seconds, device, library, random_states, seeded, set_random, threads, torch

__all__ = [
    "Budget",
    "Curve",
    "device",
    "held_out",
    "learn",
    "moved",
    "parameters",
    "read",
    "restore",
    "seeded",
    "shuffled",
    "torch",
    "weights",
    "write",
]

KEEP_S, KEEP_TIMES = checkpoint_seconds(), 20.0
"""Between checkpoints there are at least so many seconds, and so many times what writing one takes."""

KEPT = ("stale", "judged", "at", "total", "seen")
"""What a checkpoint holds of the loop, beside its curve."""


@dataclass(frozen=True)
class Budget:
    """How long a model trains and how much it looks at in one profile.

    Attributes
    ----------
    pretrain_epochs, classifier_epochs, tune_epochs
        Most epochs of the encoder, of the zero-shot classifier and of fine-tuning.
    tune_patience
        Validations without a better score after which fine-tuning ends.
    tune_every
        Updates between validations, which are at the ends of epochs.
    held_windows
        Most validation windows that fine-tuning looks at after an epoch; None is all.
    """

    pretrain_epochs: int
    classifier_epochs: int
    tune_epochs: int = 20
    tune_patience: int = 5
    tune_every: int = 1
    held_windows: int | None = None


@dataclass
class Curve:
    """How training went.

    Attributes
    ----------
    losses, scores
        Mean loss over the windows of every epoch, and what validation said after it.
    epochs, updates, windows
        Epochs begun and ended, steps of the optimiser, windows seen (one that is seen twice counts twice).
    seconds, cpu_seconds
        Time spent, by all processes that had a part in it.
    best_epoch
        The epoch, from 1, whose weights were kept; None where there is no validation.
    stopped
        Why it ended: ``epochs`` or ``patience``.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    epochs: int = 0
    updates: int = 0
    windows: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    best_epoch: int | None = None
    stopped: str = ""

    def facts(self) -> dict[str, Any]:
        """Return it as plain data, with the device and the threads."""
        return {**asdict(self), "device": device().type, "threads": threads()}


def learn(
    name: str,
    modules: Mapping[str, Any],
    batches: Callable[[int], Iterable[Any]],
    loss: Callable[[Any], Any],
    *,
    optimiser: Any,
    epochs: int,
    seed: int,
    validate: Callable[[], float] | None = None,
    patience: int | None = None,
    least_updates: int = 0,
    higher_is_better: bool = True,
    clip: float | None = None,
    scheduler: Any = None,
    every: int = 1,
) -> Curve:
    """Train modules in place; where there is a validation, they end with the weights that did best in it.

    Parameters
    ----------
    name
        Of the loop, one of its own within a node of the engine.
    modules
        What is trained, by name.
    batches, loss
        The batches of an epoch, and the loss of one of them as a tensor.
    optimiser, scheduler
        Those of torch, made over the parameters of the modules.
    epochs, least_updates
        Most epochs; but they go on until so many updates were made.
    validate, higher_is_better
        A score of the modules as they are, asked for after every epoch in evaluation mode and without gradients; of
        equal ones the first is best.
    patience
        Validations without a better score after which training ends.
    every
        Updates between validations, which are at the ends of epochs and after the last one.
    clip
        Longest gradient.
    """
    loop = _Loop(name, modules, optimiser, scheduler, epochs, patience, least_updates, 1 if higher_is_better else -1)
    with seeded(seed, "har", "training", name):
        loop.take_up()
        while loop.goes_on():
            loop.epoch(batches(loop.curve.epochs), loss, clip)
            if validate is not None and loop.is_time(every):
                loop.judge(validate)
            loop.keep()
        loop.end()
    return loop.curve


@dataclass
class _Loop:
    """A training loop on its way."""

    name: str
    modules: Mapping[str, Any]
    optimiser: Any
    scheduler: Any
    epochs: int
    patience: int | None
    least: int
    sign: int
    curve: Curve = field(default_factory=Curve)
    best: dict[str, Any] = field(default_factory=dict)
    stale: int = 0
    judged: int = 0
    """Updates made when it was last validated."""
    at: int = 0
    """Batches done of the epoch that is under way."""
    total: float = 0.0
    seen: int = 0
    """Sum of the losses and number of the windows of that epoch."""
    skip: int = 0
    """Batches of it that a process before this one has done."""
    random: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._clocks = time.perf_counter(), time.process_time()
        self._kept, self._cost = time.monotonic(), 0.0
        self._began, self._before, self._each = time.monotonic(), 0, 0

    def goes_on(self) -> bool:
        """Say whether there is another epoch, or one to finish."""
        curve = self.curve
        if curve.stopped:
            return False
        if self.at or curve.updates < self.least:
            return True
        if self.patience is not None and self.stale >= self.patience:
            curve.stopped = "patience"
        elif curve.epochs >= self.epochs:
            curve.stopped = "epochs"
        return not curve.stopped

    def epoch(self, batches: Iterable[Any], loss: Callable[[Any], Any], clip: float | None) -> None:
        """Make an update with every batch of an epoch that is not done yet."""
        for module in self.modules.values():
            module.train()
        rest = iter(batches)
        if self.skip:
            for _ in islice(rest, self.skip):  # they may draw random numbers again, so these are set back after them
                pass
            set_random(self.random)
            self.skip = 0
        for batch in rest:
            self._update(batch, loss(batch), clip)
            self._tell()
            self.keep()
        if not self.seen:
            raise InputError(f"{self.name}: no batch to learn from; give it more windows")
        self.curve.losses.append(self.total / self.seen)
        self.curve.epochs += 1
        self._each, self.at, self.total, self.seen = self.at, 0, 0.0, 0

    def _update(self, batch: Any, found: Any, clip: float | None) -> None:
        value, count = float(found.detach()), (len(batch[0]) if isinstance(batch, tuple | list) else len(batch))
        if not math.isfinite(value):
            raise WorkError(
                f"{self.name}: the loss is {value} at update {self.curve.updates + 1}; training went astray, look at "
                "the units of the signals"
            )
        self.optimiser.zero_grad(set_to_none=True)
        found.backward()
        if clip is not None:
            torch().nn.utils.clip_grad_norm_(
                [weight for group in self.optimiser.param_groups for weight in group["params"]], clip
            )
        self.optimiser.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.total += value * count
        self.seen += count
        self.at += 1
        self.curve.updates += 1
        self.curve.windows += count

    def is_time(self, every: int) -> bool:
        """Say whether enough updates were made since the last validation, or there will be no more."""
        curve = self.curve
        last = curve.epochs >= self.epochs and curve.updates >= self.least
        return last or curve.updates - self.judged >= every

    def judge(self, validate: Callable[[], float]) -> None:
        """Validate, and remember the weights where they did better than all before."""
        for module in self.modules.values():
            module.eval()
        with torch().no_grad():
            score = float(validate())
        before = [self.sign * value for value in self.curve.scores]
        self.curve.scores.append(score)
        self.stale += 1
        self.judged = self.curve.updates
        if not before or self.sign * score > max(before):
            self.best, self.stale, self.curve.best_epoch = weights(self.modules), 0, self.curve.epochs

    def keep(self, *, now: bool = False) -> None:
        """Write a checkpoint, where it is time for one."""
        folder, clock = begun(), time.monotonic()
        if folder is None or (not now and clock - self._kept < max(KEEP_S, KEEP_TIMES * self._cost)):
            return
        self._spend()
        states: dict[str, Any] = {f"now/{name}": value for name, value in weights(self.modules).items()}
        states |= {f"best/{name}": value for name, value in self.best.items()}
        states |= {f"random/{name}": value for name, value in random_states().items()}
        inner = self.optimiser.state_dict()
        plain: dict[str, dict[str, Any]] = {}
        for place, values in inner["state"].items():
            for key, value in values.items():
                if hasattr(value, "untyped_storage"):
                    states[f"optimiser/{place}/{key}"] = value
                else:
                    plain.setdefault(str(place), {})[key] = value
        about = {
            "curve": asdict(self.curve),
            **{key: getattr(self, key) for key in KEPT},
            "groups": inner["param_groups"],
            "plain": plain,
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
        }
        write(folder / f"{self.name}.safetensors", states, about)
        self._kept = time.monotonic()
        self._cost = self._kept - clock

    def take_up(self) -> None:
        """Go on from a checkpoint, where there is one."""
        folder = begun()
        path = None if folder is None else folder / f"{self.name}.safetensors"
        if path is None or not path.is_file():
            return
        states, about = read(path)
        parts: dict[str, dict[str, Any]] = {"now": {}, "best": {}, "random": {}, "optimiser": {}}
        for name, value in states.items():
            kind, _, rest = name.partition("/")
            parts[kind][rest] = value
        restore(self.modules, parts["now"])
        inner: dict[int, dict[str, Any]] = {int(place): dict(own) for place, own in about["plain"].items()}
        for name, value in parts["optimiser"].items():
            place, _, key = name.partition("/")
            inner.setdefault(int(place), {})[key] = value
        self.optimiser.load_state_dict({"state": inner, "param_groups": about["groups"]})
        if self.scheduler is not None:
            self.scheduler.load_state_dict(about["scheduler"])
        self.curve, self.best, self.random = Curve(**about["curve"]), parts["best"], parts["random"]
        for key in KEPT:
            setattr(self, key, about[key])
        self.skip, self._before = self.at, self.curve.updates
        set_random(self.random)

    def end(self) -> None:
        """Put the best weights in their place, in evaluation mode, and keep that all is done."""
        if self.best:
            restore(self.modules, self.best)
        for module in self.modules.values():
            module.eval()
        self._spend()
        self.keep(now=True)

    def _spend(self) -> None:
        """Add the time since it was last added."""
        clocks = time.perf_counter(), time.process_time()
        self.curve.seconds += clocks[0] - self._clocks[0]
        self.curve.cpu_seconds += clocks[1] - self._clocks[1]
        self._clocks = clocks

    def _tell(self) -> None:
        curve, each = self.curve, self._each
        epochs = max(self.epochs, -(-self.least // each) if each else 0)
        text = f"{self.name}, epoch {curve.epochs + 1} of {epochs}, loss {self.total / self.seen:.4f}"
        done = curve.updates - self._before
        if each and done:
            left = max(0, epochs * each - curve.updates) * (time.monotonic() - self._began) / done
            text += f", {left:.0f} s left" if left < 120 else f", {left / 60:.0f} min left"
        tell(text)


def shuffled(n: int, size: int, seed: int, *purpose: str, whole: bool = False) -> Callable[[int], Iterator[Array]]:
    """Return what gives, for an epoch, all of n rows in random order and in batches; with `whole`, no smaller last one.

    >>> rows = shuffled(5, 2, 7, "example")
    >>> [len(batch) for batch in rows(0)], [len(batch) for batch in shuffled(5, 2, 7, "example", whole=True)(0)]
    ([2, 2, 1], [2, 2])
    >>> sorted(int(row) for batch in rows(3) for row in batch)
    [0, 1, 2, 3, 4]
    """

    def epoch(number: int) -> Iterator[Array]:
        order = generator(seed, *purpose, str(number)).permutation(n)
        for start in range(0, n - size + 1 if whole else n, size):
            yield order[start : start + size]

    return epoch


def held_out(n: int, share: float, seed: int, *purpose: str) -> tuple[Array, Array]:
    """Return the rows to train on and those held out, both in order; at least one is trained on."""
    order = generator(seed, *purpose).permutation(n)
    many = min(n - 1, round(n * share)) if n else 0
    return np.sort(order[many:]), np.sort(order[:many])


ABOUT = "about"


def parameters(*modules: Any) -> int:
    """Return how many numbers are learned in all."""
    return sum(weight.numel() for module in modules for weight in module.parameters())


def weights(modules: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of everything that modules hold, by ``module/name``."""
    return {
        f"{name}/{key}": value.detach().clone()
        for name, module in modules.items()
        for key, value in module.state_dict().items()
    }


def moved(modules: Mapping[str, Any], before: Mapping[str, Any]) -> float:
    """Return the largest change of a weight since `before`, which :func:`weights` gave."""
    now = weights(modules)
    return max(float((now[name] - value).abs().max()) for name, value in before.items() if value.is_floating_point())


def restore(modules: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Put into modules what :func:`weights` took out of such ones."""
    for name, module in modules.items():
        own = {key.partition("/")[2]: value for key, value in states.items() if key.partition("/")[0] == name}
        try:
            module.load_state_dict(own)
        except RuntimeError as error:
            said = " ".join(str(error).split())
            raise IntegrityError(f"weights of {name!r} do not fit the model: {said}; train it anew") from error


def write(path: Path, states: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write tensors by name and plain data beside them, as one safetensors file that is there whole or not at all."""
    own = {name: value.detach().cpu().contiguous().clone() for name, value in states.items()}
    part = path.with_name(f"{path.name}.part")
    library("safetensors.torch").save_file(own, part, metadata={ABOUT: json.dumps(about)})
    os.replace(part, path)


def read(path: Path) -> tuple[dict[str, Any], Any]:
    """Return what :func:`write` wrote: tensors, on the device in use, and plain data."""
    safetensors = library("safetensors")
    where = device()
    try:
        with safetensors.safe_open(os.fspath(path), framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(ABOUT, "null"))
            names = list(file.keys())
            return {name: file.get_tensor(name).to("cpu" if _random(name) else where) for name in names}, about
    except safetensors.SafetensorError as error:
        raise IntegrityError(f"{path.name}: not a whole safetensors file ({error}); train it anew") from error


def _random(name: str) -> bool:
    """Say whether a tensor is the state of a generator, which torch wants on the CPU wherever that draws."""
    return name.startswith("random/")
