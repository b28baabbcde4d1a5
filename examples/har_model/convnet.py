"""A model of one's own for ``gnomon run har``: a small convolutional network over windows at 20 Hz."""

import copy

import numpy as np
import torch
from torch import nn


class ConvNet:
    """Two convolutions and a mean over time; fine-tuned end to end with a new head."""

    def __init__(self, *, width: int = 32, epochs: int = 5):
        self.width, self.epochs = width, epochs

    def fit(self, windows, codes, conditions):
        torch.manual_seed(conditions.seed)
        body = (nn.Conv1d(6, self.width, 5, padding=2), nn.ReLU(), nn.Conv1d(self.width, self.width, 5, padding=2))
        self.encoder = nn.Sequential(*body, nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.head = nn.Linear(self.width, 87)
        return self._learn(np.concatenate([piece.signals for piece in windows]), codes, 1e-3, self.epochs, 64)

    def fine_tune(self, train, train_codes, val, val_codes, classes, conditions):
        torch.manual_seed(conditions.seed)
        other = copy.deepcopy(self)
        other.head = nn.Linear(self.width, len(classes))
        other.facts = other._learn(train.signals, train_codes, 1e-4, 100, 32)
        return other

    def scores(self, windows):
        with torch.no_grad():
            return self.head(self.encoder(self._input(windows.signals))).double().numpy()

    def _input(self, signals):
        scale = np.array([1 / 9.8] * 3 + [1.0] * 3, dtype=np.float32)
        return torch.from_numpy(np.asarray(signals) * scale).transpose(1, 2)

    def _learn(self, signals, codes, encoder_rate, epochs, size):
        x, y, updates = self._input(signals), torch.from_numpy(codes), 0
        groups = [{"params": self.encoder.parameters(), "lr": encoder_rate}, {"params": self.head.parameters()}]
        optimiser = torch.optim.AdamW(groups, lr=1e-3, weight_decay=1e-5)
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(size):
                loss = nn.functional.cross_entropy(self.head(self.encoder(x[rows])), y[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                updates += 1
        return {"updates": updates, "epochs": epochs, "parameters": sum(p.numel() for p in self.encoder.parameters())}
