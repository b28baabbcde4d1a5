"""Every figure of the published har protocol that needs no data: labels, groups, masks, coverage, split sizes."""

import numpy as np

from acceptance.support import Promise
from gnomon.suites.har import vocabulary
from gnomon.suites.har.splits import published
from gnomon.suites.har.windows import PRECUT

TABLE = {
    "motionsense": (6, 6, 22, 100, 12080, (9664, 1208, 1208), 96, 966),
    "realworld": (8, 8, 30, 100, 27138, (21710, 2713, 2715), 216, 2168),
    "mobiact": (13, 9, 34, 85, 4345, (3476, 434, 435), 26, 338),
    "vtt_coniot": (16, 11, 20, 50, 2058, (1646, 205, 207), 16, 160),
}
"""Activities, groups, mask, coverage in per cent, windows, parts, labelled windows at 1 and at 10 %."""


def main() -> None:
    promise = Promise()

    def equal(what: str, value: object, expected: object) -> None:
        promise.figure(what, str(value), f"exactly {expected}", value == expected)

    equal("training labels", len(set(vocabulary.LABELS)), 87)
    equal("groups with training labels", len(vocabulary.TRAINING_GROUPS), 34)
    together = set().union(*vocabulary.TRAIN_LABELS.values())
    equal("labels of the ten training sets together", (len(together), together == set(vocabulary.LABELS)), (87, True))
    for name, (activities, groups, allowed, share, n, parts, one, ten) in TABLE.items():
        found = vocabulary.coverage(name)
        equal(f"{name}: activities", found.activities, activities)
        equal(f"{name}: test groups", found.groups, groups)
        equal(f"{name}: closed set of 87", int(vocabulary.mask(name).sum()), allowed)
        equal(f"{name}: coverage, per cent", round(found.share), share)
        labels = np.arange(n) % activities
        for rate, labelled in ((0.01, one), (0.1, ten)):
            split = published(n, labels, rate)
            equal(f"{name}: parts of {n:,}", (len(split.train), len(split.val), len(split.test)), parts)
            equal(f"{name}: labelled at {rate:.0%}", len(split.labelled), labelled)
    equal("windows of the pre-cutting for 4,534 without overlap", round(4534 * PRECUT), 12080)
    print(f"   hash of the table: {vocabulary.digest()}")
    promise.close()


if __name__ == "__main__":
    main()
