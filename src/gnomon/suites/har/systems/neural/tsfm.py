"""TSFM: windows at the rate of their dataset, in patches of seconds, next to texts of channels and labels.

An encoder of patches (:mod:`~gnomon.suites.har.systems.neural.tsfm_network`) and a bank of label texts are trained
together on the labelled windows of the training datasets (:mod:`~gnomon.suites.har.systems.neural.tsfm_alignment`),
over a frozen text encoder. A window is scored for any label by the cosine of both vectors, whether the label was in
training or not. Fine-tuning trains the whole encoder against the vectors of the classes, which stay as they are: logits
are cosines over :data:`TEMPERATURE`, and there is no head.

Training draws the length of patches from the range of each dataset. The length ``patch_s`` belongs to answering and to
fine-tuning, not to what is fitted (:attr:`Tsfm.answering`): one fitted model answers with any.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from gnomon.core.canonical import digest
from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import WINDOW_S, Windows
from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.classical import held_score
from gnomon.suites.har.systems.neural import text, training, tsfm_alignment, tsfm_network
from gnomon.suites.har.systems.neural.training import Budget
from gnomon.suites.har.systems.neural.tsfm_alignment import Aligning, Plan
from gnomon.suites.har.systems.neural.tsfm_network import SIZES, Sizes, gathered, represented, unit
from gnomon.suites.har.systems.neural.tsfm_patches import patched
from gnomon.suites.har.systems.neural.tsfm_texts import Texts, of_channels

PLANS = {"smoke": Plan(2, 32, 1e-3, 0.1), "cpu": Plan(6, 32, 7e-4, 0.1), "paper": Plan(100, 512, 1e-4, 0.03)}
BUDGETS = {
    "smoke": Budget(0, 0, tune_epochs=2, held_windows=60),
    "cpu": Budget(0, 0, tune_every=5, held_windows=100),
    "paper": Budget(0, 0),
}
TEMPERATURE = 0.07
TUNE_RATE, TUNE_DECAY, TUNE_BATCH = 1e-5, 1e-5, 32
BLOCK = 256
"""Windows that are embedded at a time."""
STATE = "tsfm.safetensors"


class Tsfm:
    """TSFM.

    Parameters
    ----------
    patch_s
        Length of patches in seconds, when the model answers and when it is fine-tuned.
    weights
        Folder of the text encoder; without, MiniLM from its package.
    """

    native_rate = True
    text_aligned = True
    answering = ("patch_s",)
    """Parameters that change answers, but not what is fitted."""

    deviations = (
        Deviation(
            "tsfm",
            "channels in training",
            "all that a dataset has, up to 51",
            "the six of one placement, as in tests",
            "neutral",
        ),
        Deviation(
            "tsfm",
            "first stage",
            "starts from an encoder that was trained without labels",
            "aligned with label texts from the start",
            "slight disadvantage",
        ),
        Deviation(
            "tsfm",
            "similarity of soft targets",
            "of the text vectors that are being trained",
            "of frozen text vectors",
            "neutral; keeps texts from becoming alike",
        ),
        Deviation(
            "tsfm",
            "batches",
            "16 of 32 windows for an update, half precision",
            "profile paper one of 512, smaller profiles of 32; single precision",
            "neutral",
        ),
        Deviation(
            "tsfm",
            "texts of labels in training",
            "synonyms and templates",
            "templates alone",
            "slight disadvantage on labels never seen",
        ),
        Deviation(
            "tsfm",
            "first weights",
            "drawn",
            "drawn, then centred and scaled on some training windows",
            "fewer epochs are needed",
        ),
        Deviation(
            "tsfm",
            "windows of training",
            "70 % train, the rest chooses the epoch",
            "all train, the last epoch is taken",
            "neutral",
        ),
        Deviation(
            "tsfm",
            "size in profiles cpu and smoke",
            "384 wide, 4 blocks of 8 heads, 32 and 64 filters, dropout .1, 100 epochs at 1e-4, 3 % of them to warm up",
            "cpu 96 wide, 2 blocks of 4 heads, 16 and 32 filters, no dropout, 6 epochs at 7e-4, a tenth to warm up; "
            "smoke less",
            "lower scores",
        ),
        Deviation(
            "tsfm",
            "validation in fine-tuning",
            "all windows after every epoch",
            "cpu: 100 windows at most, 5 updates apart or more",
            "epochs are chosen less surely",
        ),
    )

    def __init__(self, *, patch_s: float = 1.0, weights: str = "") -> None:
        if isinstance(patch_s, bool) or not isinstance(patch_s, int | float) or not 0.1 <= patch_s <= WINDOW_S:
            raise InputError(f"tsfm: patch_s is {patch_s!r}, expected seconds, 0.1 to {WINDOW_S:g}")
        if not isinstance(weights, str):
            raise InputError(f"tsfm: weights is {weights!r}, expected the folder of a text encoder")
        self.patch_s = float(patch_s)
        self.texts = Texts(weights)
        self.sizes: Sizes = SIZES["cpu"]
        self.network: Any = None

    @staticmethod
    def identify_parameters(*, patch_s: float = 1.0, weights: str = "") -> str:
        """Return the hash of the files that parameters name; it belongs to the identity of the system."""
        del patch_s
        return digest(text.content(weights)) if weights else ""

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> Mapping[str, Any]:
        """Train encoder and label bank on the training datasets."""
        plan, self.sizes = PLANS[conditions.profile], SIZES[conditions.profile]
        pieces = [piece for piece in windows if len(piece)]
        with training.seeded(conditions.seed, "har", "tsfm", "weights"):
            self.network = tsfm_network.network(self.sizes, self.texts.width)
        work = Aligning(self.network, self.sizes, self.texts, pieces, np.unique(codes))
        curve = tsfm_alignment.align(work, np.asarray(codes), plan, conditions.seed)
        return {
            "parameters": training.parameters(self.network),
            "updates": curve.updates,
            "epochs": curve.epochs,
            "text_encoder": self.texts.facts,
            "patch_s": {piece.dataset: list(piece.patch_s) for piece in pieces},
            "curve": curve.facts(),
        }

    def embed(self, windows: Windows) -> Array:
        """Return unit vectors ``(n, d)`` of windows."""
        if self.network is None:
            raise InputError("tsfm: no encoder yet; call fit() or load() first")
        torch, layers = training.torch(), self.network["sensor"]
        found = np.empty((len(windows), self.sizes.d), dtype=np.float32)
        self.network.eval()
        with torch.no_grad():
            channels = tsfm_network.described(layers, *self.texts.tokens(of_channels(windows)))
            for start in range(0, len(windows), BLOCK):
                rows = np.arange(start, min(start + BLOCK, len(windows)))
                own = patched(windows, rows, self.patch_s)
                found[rows] = unit(represented(layers, self.sizes, own, channels)).cpu().numpy()
        return found

    def embed_labels(self, labels: Sequence[str]) -> Array:
        """Return unit vectors ``(n, d)`` of any labels."""
        if self.network is None:
            raise InputError("tsfm: no label bank yet; call fit() or load() first")
        self.network.eval()
        with training.torch().no_grad():
            found = unit(gathered(self.network["labels"], *self.texts.tokens(labels)))
        return np.asarray(found.cpu().numpy())

    def score_labels(self, windows: Windows, labels: Sequence[str]) -> Array:
        """Return cosines ``(n, len(labels))`` of windows and labels, which may be any texts."""
        return np.asarray(self.embed(windows) @ self.embed_labels(labels).T, dtype=np.float64)

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Tuned:
        """Train a copy of the encoder against the vectors of the classes."""
        tuned = Tuned(self, classes)
        tuned.learn(train, train_codes, val, val_codes, conditions)
        return tuned

    def copy(self) -> Self:
        """Return the same model with a network of its own."""
        found = copy.copy(self)
        found.network = copy.deepcopy(self.network)
        return found

    def save(self, folder: Path) -> None:
        """Keep the network and the texts that it knows."""
        states, names = self.texts.states()
        about = {"sizes": list(vars(self.sizes).values()), "texts": names, "text_encoder": self.texts.facts}
        training.write(folder / STATE, {**training.weights({"network": self.network}), **states}, about)

    def load(self, folder: Path) -> None:
        """Take up what was kept."""
        states, about = training.read(folder / STATE)
        d, blocks, heads, filters, dropout = about["sizes"]
        self.sizes = Sizes(d, blocks, heads, tuple(filters), dropout)
        self.texts.restore(states, about["texts"], about["text_encoder"])
        self.network = tsfm_network.network(self.sizes, self.texts.width)
        training.restore({"network": self.network}, states)
        self.network.eval()


class Tuned:
    """A copy of a fitted TSFM whose encoder is trained against the vectors of some classes."""

    def __init__(self, fitted: Tsfm, classes: Sequence[str]) -> None:
        self.targets = fitted.embed_labels(classes)
        self.model = fitted.copy()
        self.facts: dict[str, Any] = {}

    def learn(self, train: Windows, train_codes: Array, val: Windows, val_codes: Array, conditions: Conditions) -> None:
        """Train on labelled windows; the epoch that does best on validation windows is kept."""
        torch, budget, own = training.torch(), BUDGETS[conditions.profile], self.model
        modules = {"encoder": own.network["sensor"]}
        before = training.weights(modules)
        targets = torch.from_numpy(self.targets).to(training.device())
        codes = torch.from_numpy(np.asarray(train_codes, dtype=np.int64)).to(training.device())
        cut, texts = patched(train, np.arange(len(train)), own.patch_s), own.texts.tokens(of_channels(train))
        held = generator(conditions.seed, "har", "tsfm", "held").permutation(len(val))[: budget.held_windows]
        looked_at, truth = val.take(np.sort(held)), np.asarray(val_codes)[np.sort(held)]

        def loss(rows: Array) -> Any:
            channels = tsfm_network.described(modules["encoder"], *texts)
            found = unit(represented(modules["encoder"], own.sizes, cut.take(rows), channels))
            return torch.nn.functional.cross_entropy(found @ targets.T / TEMPERATURE, codes[rows])

        curve = training.learn(
            "fine-tuning",
            modules,
            training.shuffled(len(train), TUNE_BATCH, conditions.seed, "har", "tsfm", "fine-tune"),
            loss,
            optimiser=torch.optim.AdamW(modules["encoder"].parameters(), lr=TUNE_RATE, weight_decay=TUNE_DECAY),
            epochs=budget.tune_epochs,
            seed=conditions.seed,
            validate=(lambda: held_score(self.scores(looked_at), truth, conditions)) if len(held) else None,
            patience=budget.tune_patience,
            least_updates=conditions.least_updates,
            every=budget.tune_every,
        )
        self.facts = {
            "parameters": training.parameters(*modules.values()),
            "updates": curve.updates,
            "epochs": curve.epochs,
            "encoder_moved": training.moved(modules, before),
            "by": conditions.selection,
            "patch_s": own.patch_s,
            "text_encoder": own.texts.facts,
            "curve": curve.facts(),
        }

    def scores(self, windows: Windows) -> Array:
        """Return cosines over the temperature for every window and class."""
        return np.asarray(self.model.embed(windows) @ self.targets.T / TEMPERATURE, dtype=np.float64)
