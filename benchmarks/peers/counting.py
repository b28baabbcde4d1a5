"""Peer of ``benchmarks/counting.py``: ``sklearn.metrics.confusion_matrix``."""

from __future__ import annotations

import sklearn
from serving import serve
from sklearn.metrics import confusion_matrix

if __name__ == "__main__":
    serve(
        "scikit-learn",
        sklearn.__version__,
        lambda arrays, _: lambda: confusion_matrix(arrays["truth"], arrays["prediction"]),
    )
