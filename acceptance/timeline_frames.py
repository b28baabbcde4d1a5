"""A timeline of a million spans in each of three lanes pans and zooms at 30 frames a second or more."""

import sys
import tempfile
from pathlib import Path

from benchmarks.timeline import FRAMES, day, measured

from acceptance.browsing import FLAGS, program
from acceptance.support import Promise

SPANS, FRAME_MS, FIRST_S = 1_000_000, 33.3, 2.0


def main() -> None:
    path = program()
    if path is None:
        sys.exit("   no Chromium here: install it, or name it in GNOMON_CHROMIUM")
    promise = Promise()
    with tempfile.TemporaryDirectory() as folder:
        found = {name: 1e3 * value for name, value in measured(Path(folder), day(SPANS), path, FLAGS).items()}
    what = f"3 x {SPANS:,} spans"
    promise.at_most(f"{what}, {FRAMES} frames of pan and zoom: median frame, ms", found["frame_s"], FRAME_MS)
    promise.at_most(f"{what}: from asking for the page to the first drawing, s", found["first_s"] / 1e3, FIRST_S)
    print(
        f"   {what}: 95 % of frames within {found['p95_s']:.1f} ms; the drawing itself takes {found['draw_s']:.1f} ms "
        f"(median), {found['draw95_s']:.1f} ms (95 %)",
        flush=True,
    )
    promise.close()


if __name__ == "__main__":
    main()
