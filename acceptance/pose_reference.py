"""Alignment against a float64 SVD reference on every awkward kind of input; a bad sample leaves the others alone."""

import numpy as np

from acceptance.support import Promise
from gnomon.numerics.procrustes import align

RNG = np.random.default_rng(7)


def reference(truth: np.ndarray, prediction: np.ndarray, scale: bool) -> np.ndarray:
    """Distances of one sample after the best rotation and translation (and scale), reflections excluded."""
    a, b = prediction - prediction.mean(axis=0), truth - truth.mean(axis=0)
    left, values, right = np.linalg.svd(a.T @ b)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(left @ right)) or 1.0])
    spread = (a * a).sum()
    size = (values * signs).sum() / spread if scale and spread > 0 else (0.0 if scale else 1.0)
    return np.linalg.norm(size * a @ (left * signs) @ right - b, axis=1)


def kinds() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    body = RNG.normal(size=(200, 17, 3))
    near = body + 0.1 * RNG.normal(size=body.shape)
    line = RNG.normal(size=(200, 17, 1)) * RNG.normal(size=(200, 1, 3))
    return {
        "random": (body, near),
        "unrelated": (body, RNG.normal(size=body.shape)),
        "planar": (body * [1, 1, 0], near * [1, 1, 0]),
        "collinear": (line, line + 0.0),
        "coincident": (body, np.repeat(body[:, :1], 17, axis=1)),
        "mirrored": (body, body * [-1, 1, 1]),
        "one joint": (body[:, :1], near[:, :1]),
        "offset of 1e6 m": (body + 1e6, near - 1e6),
        **{f"batch of {n}": (body[:n], near[:n]) for n in (1, 2, 3)},
    }


def main() -> None:
    promise = Promise()
    for name, (truth, prediction) in kinds().items():
        found = align(truth, prediction, keep=("rigid", "similarity"))
        worst = 0.0
        for kind, scale in (("rigid", False), ("similarity", True)):
            wanted = np.array([reference(t, p, scale) for t, p in zip(truth, prediction, strict=True)])
            worst = max(worst, float(np.abs(found.errors[kind] - wanted).max()))
        promise.at_most(f"{name}: largest difference to SVD, m", worst, 1e-9)
    truth, prediction = kinds()["random"]
    broken = prediction.copy()
    broken[5, 3, 1] = np.nan
    whole, rest = (align(truth, p, keep=("similarity",)).errors["similarity"] for p in (prediction, broken))
    same = np.array_equal(np.delete(whole, 5, axis=0), np.delete(rest, 5, axis=0))
    promise.figure("NaN in one sample leaves the others as they are", same, "True", same)
    order = RNG.permutation(len(truth))
    shuffled = align(truth[order], prediction[order], keep=("similarity",)).errors["similarity"]
    promise.figure("shuffled rows", "equal", "equal bit by bit", np.array_equal(shuffled, whole[order]))
    promise.close()


if __name__ == "__main__":
    main()
