"""Benchmark ``events``: a million events in seconds, growth, memory, and the ratio to ``ward-metrics``."""

from acceptance.speed_of_counting_and_intervals import rows
from acceptance.support import Promise


def main() -> None:
    promise = Promise()
    by_name = {(row["name"], row["n"]): row for row in rows("events")}
    peer = by_name["ward-binary", 1000]
    promise.at_least(
        f"1,000 events, times {peer['peer']} {peer['peer_version']} (segments + events)", peer["ratio"], 1000
    )
    small, large = by_name["ward-20-classes", 100_000], by_name["ward-20-classes", 1_000_000]
    many = by_name["ward-1000-classes", 1_000_000]
    promise.at_most("1e6 x 1e6 events, 20 classes: CPU-seconds", large["cpu_s"], 3)
    promise.at_most("1,000 classes against 20, times", many["cpu_s"] / large["cpu_s"], 2)
    promise.at_most("1e6 against 1e5 events, times", large["cpu_s"] / small["cpu_s"], 13)
    promise.at_most("peak memory at 1e6, MB", max(large["peak_mb"], many["peak_mb"]), 1000)
    promise.close()


if __name__ == "__main__":
    main()
