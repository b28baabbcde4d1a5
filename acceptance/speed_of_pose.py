"""Benchmark ``pose``: MPJPE, PA-MPJPE and pelvis-centred MPJPE together, one thread, as ratios to plain numpy."""

from acceptance.speed_of_counting_and_intervals import rows
from acceptance.support import Promise

LEAST = {"loop": 150, "batched": 8}


def main() -> None:
    promise = Promise()
    for row in rows("pose"):
        kind = row["name"].rpartition("-")[2]
        what = (
            f"{row['n']:,} samples of {row['joints']} joints ({row['per_sample_us']:.2f} us each), times {row['peer']}"
        )
        promise.at_least(what, row["ratio"], LEAST[kind])
    promise.close()


if __name__ == "__main__":
    main()
