"""LanHAR (Yan et al., 2025): signals beside descriptions of motion, and descriptions beside the names of activities.

A window is turned so that gravity points along +z (:mod:`~gnomon.suites.har.systems.neural.gravity`) and described in
words (:mod:`~gnomon.suites.har.systems.neural.descriptions`).

Stage 1
    Descriptions of one activity and the texts of its label (:mod:`~gnomon.suites.har.systems.neural.snippets`) are
    brought together (:func:`~gnomon.suites.har.systems.neural.alignment.stage_one`).
Stage 2
    Texts stay as they are; the sensor encoder (:mod:`~gnomon.suites.har.systems.neural.sensing`) learns to put a window
    beside its description (:func:`~gnomon.suites.har.systems.neural.alignment.clip`).
Zero-shot
    A label, whatever it is, becomes the mean of its projected texts. The score is the cosine with it.
Fine-tuning
    The sensor encoder alone, by the cross entropy of cosines with the vectors of the labels, which stay as they are.

Both stages see the training datasets only. Descriptions never name an activity.

How LanHAR reads texts: a frozen text encoder under a small trained map, or a text encoder that is trained itself.

A reader gives unit vectors ``(n, d)`` of texts, with gradients where they are asked for. ``layers`` is what is trained.

- :class:`Mapped` encodes every line of a text by itself, so that texts made of few different lines cost little, and
  takes the mean; then comes a linear map, which begins as the identity.
- :class:`Trained` encodes whole texts by a copy of the encoder, whose weights are trained (no dropout).

Fine-tuning of LanHAR: the sensor encoder, by cosines with vectors of classes that stay as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import digest
from gnomon.core.errors import InputError, IntegrityError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.engine.torches import device
from gnomon.engine.torches import torch as library
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.classical import held_score
from gnomon.suites.har.systems.neural import alignment, descriptions, gravity, sensing, text, training
from gnomon.suites.har.systems.neural.lanhar_settings import DEVIATIONS, SETTINGS, Setting
from gnomon.suites.har.systems.neural.snippets import EACH, snippets, words
from gnomon.suites.har.systems.neural.text import TextEncoder, bert, encoder
from gnomon.suites.har.systems.neural.training import Curve
from gnomon.suites.har.vocabulary import LABELS

FILE = "lanhar.safetensors"
HELD = 0.1
"""Share of the training windows by which the epoch of stage 2 is chosen."""


class LanHar:
    """LanHAR with template descriptions.

    Parameters
    ----------
    weights
        Folder of a text encoder, such as SciBERT; without one it is MiniLM from its package.
    describe
        ``package.module:function`` that writes the description of a window; without one it is the template.
    """

    text_aligned = True
    deviations = DEVIATIONS
    aligns_gravity = True
    """Windows are turned so that gravity points along z, where they have it."""

    def __init__(self, *, weights: str = "", describe: str = "") -> None:
        if not isinstance(weights, str) or not isinstance(describe, str):
            raise InputError("lanhar: expected weights=FOLDER and describe=package.module:function")
        self.weights, self.describe = weights, describe
        self.setting, self.sizes = SETTINGS["cpu"], SETTINGS["cpu"].sizes
        self.about: dict[str, Any] = {}
        self.modules: dict[str, Any] = {}
        self.reader: Reader | None = None
        self.known: dict[str, Any] = {}

    @staticmethod
    def identify_parameters(*, weights: str = "", describe: str = "") -> str:
        """Return the hash of the files that parameters name; it belongs to the identity of the system."""
        return digest([*text.content(weights), *descriptions.content(describe)])

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> Mapping[str, Any]:
        """Align texts, then signals with texts."""
        self._begin(conditions.profile, Source(self.weights), conditions.seed)
        aligned = [(piece, gravity.align(piece)) for piece in windows]
        writer = descriptions.find_writer(self.describe)
        texts = [line for piece, one in aligned for line in descriptions.describe(piece, one, writer)]
        seen, own = np.unique(np.asarray(codes), return_inverse=True)
        first = self._align_texts(texts, own, [LABELS[code] for code in seen], conditions)
        second = self._align_signals(Seen.of(aligned), texts, conditions)
        self.known = dict(zip(LABELS, self._vectors(LABELS), strict=True))
        self.about |= {"descriptions": self.describe or "template, no language model"}
        return {
            **self.about,
            "texts": len(set(texts)),
            "aligned": {piece.dataset: int(one.turned.sum()) for piece, one in aligned},
            "gravity_removed": [piece.dataset for piece, one in aligned if one.removed],
            "parameters": training.parameters(*self.modules.values()),
            "updates": first.updates + second.updates,
            "epochs": first.epochs + second.epochs,
            "curves": {"texts": first.facts(), "signals": second.facts()},
        }

    def _begin(self, profile: str, source: Source, seed: int) -> None:
        self.setting = SETTINGS[profile]
        own = source()
        source.identity = own.identity
        self.sizes = replace(self.setting.sizes, d=self.setting.sizes.d or own.width)
        self.about = {"profile": profile, "text_encoder": own.facts()}
        with training.seeded(seed, "har", "lanhar", "weights"):
            self._make(source, own.width)

    def _make(self, source: Source, width: int) -> None:
        torch, where = training.torch(), training.device()
        self.reader = (Trained if self.setting.trains_encoder else Mapped)(source, width)
        scale = torch.nn.ParameterDict({"log": torch.tensor(float(self.setting.log_scale))})
        self.modules = {
            "reader": self.reader.layers,
            "sensor": sensing.encoder(self.sizes).to(where),
            "text": sensing.projection(width, self.sizes.d).to(where),
            "scale": scale.to(where),
        }

    def _align_texts(self, texts: Sequence[str], codes: Array, labels: Sequence[str], conditions: Conditions) -> Curve:
        torch, stage, reader = training.torch(), self.setting.texts, self._read()
        width, where = self.about["text_encoder"]["width"], training.device()
        kept = torch.nn.ParameterDict(
            {"centres": torch.nn.Parameter(torch.zeros((len(labels), width), device=where), requires_grad=False)}
        )

        def centres(classes: Array, vectors: Any) -> Any:
            """Put prototypes of some classes, which gradients go through, among those of the others."""
            own = alignment.prototypes(vectors, len(classes))
            return kept["centres"].index_copy(0, torch.from_numpy(classes).to(where), own)

        def loss(batch: tuple[Array, Array, Array, bool]) -> Any:
            rows, same, other, is_first = batch
            if is_first:  # of an epoch, so that what is kept depends on no process
                kept["centres"].data = centres(np.arange(len(labels)), read(reader, _texts(labels)))
            anchors, near, far = reader([texts[row] for row in (*rows, *same, *other)]).view(3, len(rows), width)
            there = np.unique(codes[rows])
            now = centres(there, reader(_texts([labels[code] for code in there])))
            names = reader([words(label) for label in labels])
            own, away = (torch.from_numpy(codes[part]).to(where) for part in (rows, other))
            return alignment.stage_one(anchors, (near, far), now, names, (own, away))

        return training.learn(
            "texts",
            {"reader": reader.layers, "kept": kept},
            _triples(codes, stage.batch, conditions.seed),
            loss,
            optimiser=torch.optim.AdamW(reader.layers.parameters(), lr=stage.rate),
            epochs=stage.epochs,
            seed=conditions.seed,
        )

    def _align_signals(self, seen: Seen, texts: Sequence[str], conditions: Conditions) -> Curve:
        torch, stage = training.torch(), self.setting.signals
        unique = list(dict.fromkeys(texts))
        place = {one: at for at, one in enumerate(unique)}
        frozen = read(self._read(), unique)
        which = torch.tensor([place[one] for one in texts], device=frozen.device)
        rows, held = training.held_out(len(seen), HELD, conditions.seed, "har", "lanhar", "held")
        order = training.shuffled(len(rows), stage.batch, conditions.seed, "har", "lanhar", "signals")

        def loss(batch: Array) -> Any:
            own = torch.from_numpy(batch).to(frozen.device)
            signals = sensing.embed(self.modules["sensor"], self.sizes, seen.signals[own], seen.valid[own])
            target = sensing.project(self.modules["text"], frozen[which[own]])
            return alignment.clip(signals, target, self.modules["scale"]["log"])

        def held_loss() -> float:
            parts = [held[start : start + stage.batch] for start in range(0, len(held), stage.batch)]
            return float(sum(float(loss(part)) * len(part) for part in parts)) / len(held)

        modules = {name: self.modules[name] for name in ("sensor", "text", "scale")}
        return training.learn(
            "signals",
            modules,
            lambda epoch: (rows[batch] for batch in order(epoch)),
            loss,
            optimiser=torch.optim.AdamW(
                [weight for module in modules.values() for weight in module.parameters()], lr=stage.rate
            ),
            epochs=stage.epochs,
            seed=conditions.seed,
            validate=held_loss if len(held) else None,
            higher_is_better=False,
        )

    def _read(self) -> Reader:
        if self.reader is None:
            raise InputError("lanhar: not fitted yet; call fit() or load() first")
        return self.reader

    def _vectors(self, labels: Sequence[str]) -> Any:
        """Return a unit vector for every label: the mean of its projected texts."""
        torch = training.torch()
        found = read(self._read(), _texts(labels))
        with torch.no_grad():
            own = sensing.project(self.modules["text"], found).view(len(labels), EACH, -1)
            return torch.nn.functional.normalize(own.mean(dim=1), dim=-1)

    def label_vectors(self, labels: Sequence[str]) -> Any:
        """Return unit vectors ``(labels, d)``; those of the training labels are kept with the model."""
        self._read()
        new = [label for label in dict.fromkeys(labels) if label not in self.known]
        if new:
            self.known |= dict(zip(new, self._vectors(new), strict=True))
        return training.torch().stack([self.known[label] for label in labels])

    def embed(self, windows: Windows) -> Array:
        """Return unit vectors of windows, ``(n, d)``."""
        self._read()
        return embedded(self.modules["sensor"], self.sizes, Seen.of([(windows, gravity.align(windows))]))

    def score_labels(self, windows: Windows, labels: Sequence[str]) -> Array:
        """Return the cosine of every window with every label, whatever the labels are."""
        return self.embed(windows) @ np.asarray(self.label_vectors(labels).cpu().numpy(), dtype=np.float64).T

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Tuned:
        """Train a copy of the sensor encoder by cosines with the labels' vectors, which stay as they are."""
        tuned = Tuned(copy.deepcopy(self.modules["sensor"]), self.sizes, self.label_vectors(classes))
        tuned.facts = tuned.learn(train, train_codes, val, val_codes, SETTINGS[conditions.profile], conditions)
        tuned.facts |= {**self.about, "gravity_removed": train.gravity == "removed"}
        return tuned

    def save(self, folder: Path) -> None:
        """Keep what was trained, and the vectors of the training labels."""
        self._read()
        known = training.torch().stack([self.known[label] for label in LABELS])
        training.write(folder / FILE, {**training.weights(self.modules), "known": known}, self.about)

    def load(self, folder: Path) -> None:
        """Take up what was kept. The text encoder is read when a text is asked for that is not kept."""
        states, about = training.read(folder / FILE)
        self.about, self.setting = about, SETTINGS[about["profile"]]
        width = about["text_encoder"]["width"]
        self.sizes = replace(self.setting.sizes, d=self.setting.sizes.d or width)
        self._make(Source(self.weights, about["text_encoder"]["sha256"]), width)
        self.known = dict(zip(LABELS, states.pop("known"), strict=True))
        training.restore(self.modules, states)
        for module in self.modules.values():
            module.eval()


def _texts(labels: Sequence[str]) -> list[str]:
    return [one for label in labels for one in snippets(label)]


def _triples(codes: Array, size: int, seed: int) -> Callable[[int], Iterator[tuple[Array, Array, Array, bool]]]:
    """Return what gives, for an epoch, batches of rows, of rows of the same class, of rows of another, and if it is the
    first batch. A class of one row has itself as the same; where there is one class only, so has the other.
    """
    order = training.shuffled(len(codes), size, seed, "har", "lanhar", "texts")
    by_class = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]

    def epoch(number: int) -> Iterator[tuple[Array, Array, Array, bool]]:
        rng = generator(seed, "har", "lanhar", "triples", str(number))
        for at, rows in enumerate(order(number)):
            same = np.array([rng.choice(by_class[codes[row]]) for row in rows])
            yield rows, same, _foreign(rows, codes, rng), at == 0

    return epoch


def _foreign(rows: Array, codes: Array, rng: np.random.Generator) -> Array:
    found = rng.integers(len(codes), size=len(rows))
    for _ in range(64):
        wrong = codes[found] == codes[rows]
        if not wrong.any():
            break
        found[wrong] = rng.integers(len(codes), size=int(wrong.sum()))
    return found


class Source:
    """A text encoder that is read when it is first needed; it has to be the one that was there before."""

    def __init__(self, weights: str, identity: str = "") -> None:
        self.weights, self.identity = weights, identity

    def __call__(self) -> TextEncoder:
        """Return the encoder."""
        found = encoder(self.weights)
        if self.identity and found.identity != self.identity:
            raise IntegrityError(
                f"text encoder {found.name}: SHA-256 {found.identity}, but the model was fitted with {self.identity}; "
                "put the old one back, or fit anew"
            )
        return found


class Mapped:
    """A frozen encoder under a linear map."""

    def __init__(self, source: Source, width: int) -> None:
        torch = library()
        self.source = source
        self.layers = torch.nn.Linear(width, width)
        torch.nn.init.eye_(self.layers.weight)
        torch.nn.init.zeros_(self.layers.bias)
        self.layers.to(device())
        self._place: dict[str, int] = {}
        self._frozen: Any = torch.zeros((0, width), device=device())

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts."""
        torch = library()
        new = [text for text in dict.fromkeys(texts) if text not in self._place]
        if new:
            self._place |= {text: len(self._place) + at for at, text in enumerate(new)}
            self._frozen = torch.cat([self._frozen, *(self._encode(text) for text in new)])
        rows = torch.tensor([self._place[text] for text in texts], dtype=torch.long, device=device())
        return torch.nn.functional.normalize(self.layers(self._frozen[rows]), dim=-1)

    def _encode(self, text: str) -> Any:
        lines = [line for line in text.splitlines() if line.strip()] or [text]
        return library().nn.functional.normalize(self.source().sentences(lines).mean(dim=0, keepdim=True), dim=-1)


class Trained:
    """An encoder whose weights are trained."""

    def __init__(self, source: Source, width: int) -> None:
        del width
        self.source = source
        self.layers = copy.deepcopy(source().layers).requires_grad_(True)

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts."""
        own = self.source()
        numbers, mask = own.numbers(texts)
        return bert.pooled(bert.run(self.layers, own.sizes, numbers, mask), mask)


Reader = Mapped | Trained


def read(reader: Reader, texts: Sequence[str], size: int = 64) -> Any:
    """Return the vectors of many texts without gradients, so many at a time."""
    torch = library()
    with torch.no_grad():
        parts = [reader(texts[start : start + size]) for start in range(0, len(texts), size)]
    return torch.cat(parts) if parts else reader([])


BATCH, DECAY, TEMPERATURE = 32, 1e-5, 0.07
"""Windows of a batch, decay of weights, what cosines are divided by."""
STANDARD_G = 9.8
"""Metres per second squared that are taken off along z after alignment."""
ASKED = 512
"""Windows that are embedded at a time."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Windows as the sensor encoder takes them: tensors of signals ``(n, steps, 6)`` and valid steps ``(n, steps)``."""

    signals: Any
    valid: Any

    @staticmethod
    def of(aligned: Sequence[tuple[Windows, gravity.Aligned]]) -> Seen:
        """Return aligned windows, piece after piece."""
        torch, where = training.torch(), training.device()
        signals = np.concatenate([one.signals for _, one in aligned])
        turned = np.concatenate([one.turned for _, one in aligned])
        valid = np.concatenate([np.asarray(windows.valid, dtype=np.bool_) for windows, _ in aligned])
        signals[..., 2] -= np.float32(STANDARD_G) * (valid & turned[:, np.newaxis])
        return Seen(torch.from_numpy(signals).to(where), torch.from_numpy(valid).to(where))

    def __len__(self) -> int:
        return len(self.signals)


def embedded(sensor: Any, sizes: sensing.Sizes, seen: Seen) -> Array:
    """Return unit vectors of windows ``(n, d)``, without gradients."""
    torch = training.torch()
    sensor.eval()
    with torch.no_grad():
        parts = [
            sensing.embed(sensor, sizes, seen.signals[k : k + ASKED], seen.valid[k : k + ASKED]).cpu().numpy()
            for k in range(0, len(seen), ASKED)
        ]
    return np.concatenate([np.zeros((0, sizes.d)), *parts])


class Tuned:
    """A sensor encoder that was fine-tuned, and the vectors of classes ``(classes, d)``."""

    def __init__(self, sensor: Any, sizes: sensing.Sizes, centres: Any) -> None:
        self.sensor, self.sizes, self.centres, self.facts = sensor, sizes, centres, dict[str, Any]()

    def learn(
        self, train: Windows, codes: Array, val: Windows, val_codes: Array, setting: Setting, conditions: Conditions
    ) -> dict[str, Any]:
        """Train on labelled windows; the epoch that does best on validation windows is kept."""
        torch, budget = training.torch(), setting.tuning
        seen = Seen.of([(train, gravity.align(train))])
        truth = torch.from_numpy(np.asarray(codes, dtype=np.int64)).to(self.centres.device)
        some = np.sort(generator(conditions.seed, "har", "lanhar", "held").permutation(len(val))[: budget.held_windows])
        looked_at, asked = val.take(some), np.asarray(val_codes)[some]
        held = Seen.of([(looked_at, gravity.align(looked_at))])
        before = training.weights({"encoder": self.sensor})

        def loss(batch: Array) -> Any:
            own = torch.from_numpy(batch).to(truth.device)
            found = sensing.embed(self.sensor, self.sizes, seen.signals[own], seen.valid[own])
            return torch.nn.functional.cross_entropy(found @ self.centres.T / TEMPERATURE, truth[own])

        curve = training.learn(
            "fine-tuning",
            {"encoder": self.sensor},
            training.shuffled(len(seen), BATCH, conditions.seed, "har", "lanhar", "fine-tuning"),
            loss,
            optimiser=torch.optim.AdamW(self.sensor.parameters(), lr=setting.tune_rate, weight_decay=DECAY),
            epochs=budget.tune_epochs,
            seed=conditions.seed,
            validate=(lambda: held_score(self._rate(held), asked, conditions)) if len(held) else None,
            patience=budget.tune_patience,
            least_updates=conditions.least_updates,
            every=budget.tune_every,
        )
        return {
            "windows": len(seen),
            "updates": curve.updates,
            "epochs": curve.epochs,
            "parameters": training.parameters(self.sensor),
            "encoder_moved": training.moved({"encoder": self.sensor}, before),
            "by": conditions.selection,
            "held_windows": len(held),
            "curve": curve.facts(),
        }

    def scores(self, windows: Windows) -> Array:
        """Return the cosine of every window with every class."""
        return self._rate(Seen.of([(windows, gravity.align(windows))]))

    def _rate(self, seen: Seen) -> Array:
        found = embedded(self.sensor, self.sizes, seen)
        return found @ np.asarray(self.centres.cpu().numpy(), dtype=np.float64).T
