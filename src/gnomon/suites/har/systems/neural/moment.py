"""MOMENT (Goswami et al., 2024): an encoder of single channels, pre-trained by filling in hidden patches.

The encoder is that of :mod:`~gnomon.suites.har.systems.neural.patches`; a window is the embeddings of its six channels,
one after the other. Zero-shot, a support vector machine over them is fitted to the training datasets
(:mod:`~gnomon.suites.har.systems.neural.kernel`). Fine-tuning trains the encoder together with dropout and a linear map
of that embedding, which is a mean over observed patches only.

With ``weights`` the encoder is the public one from a local folder (:mod:`~gnomon.suites.har.systems.neural.public`).
Without, one is pre-trained on the training windows (:mod:`~gnomon.suites.har.systems.neural.filling`). It has seen
nothing but these windows, so it is no general model of time series, and its facts say so: "mini, pre-trained here".
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, IntegrityError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import CHANNELS, Windows
from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.classical import held_score, spread
from gnomon.suites.har.systems.neural import filling, kernel, patches, public, training
from gnomon.suites.har.systems.neural.kernel import Machine
from gnomon.suites.har.systems.neural.patches import SIZES
from gnomon.suites.har.systems.neural.t5 import Sizes
from gnomon.suites.har.systems.neural.training import Budget
from gnomon.suites.har.vocabulary import LABELS

BUDGETS = {
    "smoke": Budget(1, 0, tune_epochs=2, held_windows=60),
    "cpu": Budget(6, 0, tune_every=5, held_windows=120),
    "paper": Budget(100, 0),
}
GRIDS = {"smoke": (10.0,), "cpu": (1.0, 10.0, 100.0), "paper": kernel.GRID}
"""What C of the support vector machine is chosen from, by profile."""
PEAK, PEAKS = 1e-4, {"mini": 3e-3}
"""Highest learning rate of pre-training: the published one, and that of a size that is not."""
BATCH = 32
"""Windows of a batch of fine-tuning."""
ENCODER_RATE, HEAD_RATE, DECAY, DROPOUT = 1e-5, 1e-3, 1e-5, 0.1
"""Of fine-tuning: learning rates, decay of weights, and dropout before the linear map."""
STATE, MACHINE = "moment.safetensors", "machine.npz"


class Moment:
    """MOMENT with public weights, or a small one that is pre-trained on the training windows.

    Parameters
    ----------
    weights
        Folder with ``config.json`` and ``model.safetensors`` in the public layout; None pre-trains an encoder here.
    size
        Of an encoder that is pre-trained here: ``mini`` (the default), ``small``, ``base`` or ``large``.
    """

    deviations = (
        Deviation(
            "moment",
            "weights",
            "pre-trained on a large collection of time series",
            "without --weights, a mini one of 2 layers, pre-trained on the training windows",
            "no general model, a disadvantage",
        ),
        Deviation(
            "moment",
            "learning rate and loss of pre-training here",
            "1e-4 to 1e-5 after 1,000 updates, batches of 2,048 series",
            "mini: 3e-3 to 1e-5 after a tenth of the updates; batches of 16 windows; errors in spreads of the channel; "
            "cpu: 6 epochs",
            "neutral",
        ),
        Deviation(
            "moment",
            "rows of the support vector machine, and validation in fine-tuning",
            "at most 10,000 rows; all windows after every epoch",
            "profile paper the same; cpu: at most 2,000 rows, and 120 validation windows, 5 updates apart or more",
            "slight disadvantage",
        ),
        Deviation(
            "moment",
            "short series",
            "classification series were stretched to 512 steps in pre-training",
            "120 steps at the end of the context, the rest not observed",
            "slight disadvantage with public weights",
        ),
        Deviation(
            "moment",
            "mean over patches in fine-tuning",
            "all 64, padding among them",
            "observed ones only",
            "slight advantage",
        ),
        Deviation(
            "moment",
            "absent channels",
            "zeros, as if observed",
            "observed nowhere: zeros in the embedding",
            "neutral",
        ),
        Deviation(
            "moment",
            "grid of the support vector machine",
            "C from 1e-4 to 1e4",
            "profile paper the same; cpu 1, 10 and 100; smoke 10 alone; one kernel width for all folds",
            "neutral",
        ),
    )

    def __init__(self, *, weights: str | None = None, size: str | None = None) -> None:
        if weights is not None and not isinstance(weights, str):
            raise InputError(f"moment: weights is {weights!r}, expected a folder")
        if weights is not None and size is not None:
            raise InputError(f"moment: size={size} has no effect, since the weights have their own; leave it out")
        if size is not None and size not in SIZES:
            raise InputError(f"moment: no size {size!r}; there are {', '.join(SIZES)}")
        self.weights, self.size = weights, size or "mini"
        self.sizes: Sizes = SIZES[self.size]
        self.network: Any = None
        self.machine: Machine | None = None
        self.about: dict[str, Any] = {}

    @staticmethod
    def identify_parameters(*, weights: str | None = None, size: str | None = None) -> str:
        """Return the hash of the files that parameters name; it belongs to the identity of the system."""
        del size
        return public.content(weights) if weights is not None else ""

    def pretrain(self, windows: Sequence[Windows], conditions: Conditions) -> Mapping[str, Any]:
        """Read public weights, or train an encoder to fill in hidden patches."""
        if self.weights is not None:
            self._read(self.weights)
            return {**self.about, "parameters": training.parameters(self.network), "epochs": 0, "updates": 0}
        self.network = patches.network(self.sizes, conditions.seed)
        epochs, peak = BUDGETS[conditions.profile].pretrain_epochs, PEAKS.get(self.size, PEAK)
        curve = filling.fill_in(self.network, self.sizes, windows, epochs=epochs, peak=peak, seed=conditions.seed)
        self.about = {"weights": f"{self.size}, pre-trained here", "size": self.size}
        return {
            **self.about,
            "parameters": training.parameters(self.network),
            "epochs": curve.epochs,
            "updates": curve.updates,
            "curve": curve.facts(),
        }

    def _read(self, folder: str) -> None:
        found = public.read(folder)
        self.network, self.sizes, self.size = found.layers, found.sizes, found.size
        self.about = {
            "weights": f"{found.size}, public layout, sha256 {found.sha256}",
            "size": found.size,
            "weights_sha256": found.sha256,
            "weights_content": public.content(folder),
        }

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> Mapping[str, Any]:
        """Fit a support vector machine to the embeddings of the training datasets."""
        if self.network is None:
            self.pretrain(windows, conditions)
        rows = np.concatenate([patches.embedding(self.network, self.sizes, piece) for piece in windows])
        grid = GRIDS[conditions.profile]
        self.machine, facts = kernel.fit(rows, codes, conditions.kernel_rows, conditions.classifier_seed, grid)
        return {
            **self.about,
            "parameters": training.parameters(self.network) + int(self.machine.vectors.size),
            "rows": facts.pop("rows"),
            "classifier": facts,
        }

    def embed(self, windows: Windows) -> Array:
        """Return embeddings, ``(n, 6 d)``."""
        if self.network is None:
            raise InputError("moment: no encoder yet; call pretrain() or load() first")
        return patches.embedding(self.network, self.sizes, windows)

    def scores(self, windows: Windows) -> Array:
        """Return a score for every window and label; labels that were not seen are below all others."""
        if self.machine is None:
            raise InputError("moment: not fitted yet; call fit() or load() first")
        return spread(self.machine.scores(self.embed(windows)), self.machine.classes, len(LABELS))

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Tuned:
        """Train a copy of the encoder and a linear head on the labelled windows."""
        if self.network is None:
            raise InputError("moment: no encoder yet; call pretrain() or load() first")
        tuned = Tuned(copy.deepcopy(self.network), self.sizes, len(classes), conditions.seed)
        facts = tuned.learn(train, train_codes, val, val_codes, conditions)
        tuned.facts = {**self.about, **facts}
        return tuned

    def save(self, folder: Path) -> None:
        """Keep the encoder, unless it is a public one, which is known by its hash; and the machine, if it is fitted."""
        own = {} if self.weights is not None else training.weights({"network": self.network})
        training.write(folder / STATE, own, {**self.about, "fitted": self.machine is not None})
        if self.machine is not None:
            np.savez(folder / MACHINE, allow_pickle=False, **self.machine.arrays())

    def load(self, folder: Path) -> None:
        """Take up what was kept; public weights have to be those that it was kept with."""
        states, about = training.read(folder / STATE)
        fitted = about.pop("fitted")
        if self.weights is not None:
            self._read(self.weights)
            if self.about != about:
                raise IntegrityError(
                    f"weights {self.weights}: they have changed since the model was fitted: sha256 "
                    f"{self.about['weights_sha256'][:12]}, was {about.get('weights_sha256', 'none')[:12]}; put the old "
                    "ones back, or fit anew"
                )
        else:
            self.network, self.about = patches.network(self.sizes), about
            training.restore({"network": self.network}, states)
            self.network.eval()
        if fitted:
            with np.load(folder / MACHINE, allow_pickle=False) as arrays:
                self.machine = Machine.of(arrays)


class Tuned:
    """An encoder and a linear head, trained together."""

    def __init__(self, network: Any, sizes: Sizes, classes: int, seed: int) -> None:
        self.network, self.sizes, self.facts = network, sizes, dict[str, Any]()
        nn = training.torch().nn
        with training.seeded(seed, "har", "moment", "head"):
            self.head = nn.Sequential(nn.Dropout(DROPOUT), nn.Linear(len(CHANNELS) * sizes.d, classes))
        self.head.to(training.device())

    def learn(
        self, train: Windows, train_codes: Array, val: Windows, val_codes: Array, conditions: Conditions
    ) -> dict[str, Any]:
        """Train on labelled windows; the epoch that does best on validation windows is kept."""
        torch, budget = training.torch(), BUDGETS[conditions.profile]
        modules = {"encoder": self.network, "head": self.head}
        before = training.weights({"encoder": self.network})
        codes = torch.from_numpy(np.asarray(train_codes, dtype=np.int64)).to(training.device())
        series, observed = patches.channels(train)
        held = _some(len(val), budget.held_windows, conditions.seed)
        looked_at, truth = val.take(held), np.asarray(val_codes)[held]
        order = training.shuffled(len(train), BATCH, conditions.seed, "har", "moment", "fine-tune")

        def loss(rows: Array) -> Any:
            found = self.head(patches.embedded_windows(self.network, self.sizes, series[rows], observed[rows]))
            return torch.nn.functional.cross_entropy(found, codes[rows])

        curve = training.learn(
            "fine-tuning",
            modules,
            order,
            loss,
            optimiser=torch.optim.AdamW(
                [
                    {"params": list(self.network.parameters()), "lr": ENCODER_RATE},
                    {"params": list(self.head.parameters()), "lr": HEAD_RATE},
                ],
                weight_decay=DECAY,
            ),
            epochs=budget.tune_epochs,
            seed=conditions.seed,
            validate=(lambda: held_score(self.scores(looked_at), truth, conditions)) if len(held) else None,
            patience=budget.tune_patience,
            least_updates=conditions.least_updates,
            every=budget.tune_every,
        )
        return {
            "parameters": training.parameters(*modules.values()),
            "updates": curve.updates,
            "epochs": curve.epochs,
            "encoder_moved": training.moved({"encoder": self.network}, before),
            "by": conditions.selection,
            "curve": curve.facts(),
        }

    def scores(self, windows: Windows) -> Array:
        """Return a score for every window and class."""
        torch = training.torch()
        self.head.eval()
        rows = torch.from_numpy(patches.embedding(self.network, self.sizes, windows)).to(training.device())
        with torch.no_grad():
            return np.asarray(self.head(rows).cpu().numpy(), dtype=np.float64)


def _some(n: int, most: int | None, seed: int) -> Array:
    """Return at most so many of n rows, at random and in order."""
    order = generator(seed, "har", "moment", "held").permutation(n)
    return np.sort(order if most is None else order[:most])
