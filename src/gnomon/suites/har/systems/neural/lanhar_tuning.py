"""Fine-tuning of LanHAR: the sensor encoder, by cosines with vectors of classes that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.classical import held_score
from gnomon.suites.har.systems.neural import gravity, sensing, training
from gnomon.suites.har.systems.neural.lanhar_settings import Setting

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
