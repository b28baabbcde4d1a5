"""Benchmark ``boxes``: IoU and matching of 5,000 x 5,000 boxes, CPU time as ratios to dense numpy and scipy."""

from acceptance.speed_of_counting_and_intervals import rows
from acceptance.support import Promise

LEAST = {"sparse": 20, "clutter": 3}


def main() -> None:
    promise = Promise()
    for row in rows("boxes"):
        kind = row["name"].split("-")[1]
        what = (
            f"{row['n']:,} x {row['n']:,} boxes, {kind} ({row['overlaps_per_box']:.1f} overlaps each), "
            f"{row['matching']}, {1e3 * row['ours_s']:.0f} ms, {row['matches']:,} equal matches: times {row['peer']}"
        )
        promise.at_least(what, row["ratio"], LEAST[kind])
    promise.close()


if __name__ == "__main__":
    main()
