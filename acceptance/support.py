"""What acceptance scripts share: stating a figure against its bound."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Promise:
    """Collects figures; ``close`` exits non-zero when one falls short."""

    def __init__(self) -> None:
        self.short = 0

    def figure(self, what: str, value: float | int | str, bound: str, holds: bool) -> None:
        """Print one figure with its bound."""
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        print(f"   {'ok   ' if holds else 'SHORT'} {what}: {shown} (bound: {bound})", flush=True)
        self.short += not holds

    def at_most(self, what: str, value: float, bound: float) -> None:
        """Check an upper bound."""
        self.figure(what, value, f"at most {bound:g}", value <= bound)

    def at_least(self, what: str, value: float, bound: float) -> None:
        """Check a lower bound."""
        self.figure(what, value, f"at least {bound:g}", value >= bound)

    def close(self) -> None:
        """Leave the process with the verdict."""
        sys.exit(1 if self.short else 0)
