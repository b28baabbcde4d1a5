"""Run all acceptance scripts, or the named ones: ``python -m acceptance [NAME...]``.

Each script stands by itself (``python -m acceptance.NAME``). Long ones, which make fresh environments, run last.
"""

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LAST = ("installed_wheel", "followed_pages", "fresh_clone")


def main() -> int:
    known = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    known = [
        name for name in known if name not in LAST and name not in ("browsing", "cluster", "hostile", "support", "toys")
    ] + list(LAST)
    chosen = sys.argv[1:] or known
    unknown = [name for name in chosen if name not in known]
    if unknown:
        print(f"no acceptance script {unknown[0]!r}; there are {', '.join(known)}")
        return 2
    failed = []
    for name in chosen:
        start = time.perf_counter()
        print(f"== {name}", flush=True)
        code = subprocess.run([sys.executable, "-m", f"acceptance.{name}"], cwd=HERE.parent, check=False).returncode
        print(f"   {'holds' if code == 0 else 'FALLS SHORT'} ({time.perf_counter() - start:.1f} s)\n", flush=True)
        failed += [name] if code else []
    print(
        f"{len(chosen) - len(failed)} of {len(chosen)} promises hold"
        + (f"; not: {', '.join(failed)}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
