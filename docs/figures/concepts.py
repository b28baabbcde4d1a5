"""Draw the pictures of ``docs/concepts.md``: ``python docs/figures/concepts.py`` writes ``concepts-*.svg`` beside it.

With ``--check`` it writes nothing, says which differ, and leaves with 1. Pictures are plain SVG with a ground of their
own and two sets of colours, of which a browser takes the one that the reader prefers; nothing is said by colour alone.
The numbers in them are computed here, by gnomon.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import gnomon

HERE = Path(__file__).resolve().parent
WIDTH = 720
LIGHT = {"ground": "#ffffff", "ink": "#1b1f24", "soft": "#57606a", "line": "#8c959f", "a": "#cfe4f5", "b": "#f7d9c4"}
DARK = {"ground": "#15181d", "ink": "#e6edf3", "soft": "#a5b0bb", "line": "#6e7681", "a": "#1c4a6e", "b": "#7a3c14"}
CASES = {"anna": ((18, 20), (9, 10)), "ben": ((12, 20), (3, 10)), "cara": ((20, 20), (30, 30))}
"""Rows that were right and rows, of two recordings of each person."""
PEOPLE = {"anna": (27, 30), "ben": (15, 30), "cara": (50, 50), "dan": (33, 40), "eva": (24, 30), "fay": (36, 40)}
"""Rows that were right and rows, of six people."""


def style() -> str:
    """Return the style sheet: light, and dark where that is preferred."""
    rules = "".join(f".{name}{{fill:{colour}}}" for name, colour in LIGHT.items())
    dark = "".join(f".{name}{{fill:{colour}}}" for name, colour in DARK.items())
    edge = ".edge{{stroke:{line};stroke-width:1.2}}.arrow{{stroke:{soft};stroke-width:1.6;fill:none}}"
    base = "text{font-family:sans-serif;font-size:14px}.small{font-size:12px}.strong{font-weight:bold}"
    media = f"@media (prefers-color-scheme:dark){{{dark}{edge.format(**DARK)}}}"
    return f"<style>{base}{rules}{edge.format(**LIGHT)}{media}</style>"


def picture(height: int, title: str, *parts: str) -> str:
    """Return an SVG file with a title for those who do not see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    ground = f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>'
    lines = (f'{head} role="img" aria-label="{escape(title)}">', f"<title>{escape(title)}</title>", style(), ground)
    return "\n".join((*lines, *parts, "</svg>")) + "\n"


def text(x: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, wide: float, high: float, words: str = "", kind: str = "a", small: bool = False) -> str:
    """Return a box with words in its middle."""
    shape = f'<rect class="{kind} edge" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="4"/>'
    return shape + (
        text(x + wide / 2, y + high / 2 + 5, words, "ink small" if small else "ink", "middle") if words else ""
    )


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return a line with a head, to the right or down."""
    across = abs(to_x - x) > abs(to_y - y)
    head = "m-7,-4 l7,4 l-7,4" if across else "m-4,-7 l4,7 l4,-7"
    return f'<path class="arrow" d="M{x:g},{y:g} L{to_x:g},{to_y:g} {head}"/>'


def fold() -> str:
    """Draw cases, their tallies, their sums by group, and the score."""
    parts = [
        text(x, 30, words, "soft") for x, words in ((20, "group"), (110, "cases"), (290, "tally of each"), (455, "sum"))
    ]
    right = rows = 0
    shares = []
    for place, (name, recordings) in enumerate(CASES.items()):
        top = 44 + 66 * place
        parts += [box(14, top, 530, 56, kind="ground"), text(24, top + 33, name, "ink strong")]
        for row, (good, all_rows) in enumerate(recordings):
            y = top + 4 + 25 * row
            parts += [box(105, y, 130, 22, f"recording {row + 1}", small=True), arrow(238, y + 11, 284, y + 11)]
            parts.append(text(292, y + 16, f"{good} right of {all_rows}"))
            shares.append(good / all_rows)
        own = [sum(column) for column in zip(*recordings, strict=True)]
        parts += [arrow(410, top + 28, 446, top + 28), text(454, top + 33, f"{own[0]} of {own[1]}")]
        right, rows = right + own[0], rows + own[1]
    parts += [arrow(548, 138, 576, 138), box(580, 104, 126, 68, kind="b")]
    parts += [text(643, 130, f"{right} / {rows}", "ink", "middle")]
    parts += [text(643, 154, f"accuracy {right / rows:.3f}", "ink strong", "middle")]
    mean = sum(shares) / len(shares)
    parts.append(text(20, 266, f"Not the mean of the shares of the six recordings: that would be {mean:.3f}.", "soft"))
    said = f"Six recordings of three people: {right} rows of {rows} are right, an accuracy of {right / rows:.3f}."
    return picture(284, said, *parts)


def resample() -> str:
    """Draw the score without each group, and the interval that follows."""
    truth: dict[str, list[object]] = {"id": [], "label": [], "group": []}
    said: dict[str, list[object]] = {"id": [], "label": []}
    for name, (right, rows) in PEOPLE.items():
        for row in range(rows):
            for table in (truth, said):
                table["id"].append(f"{name}{row}")
            truth["label"].append("yes")
            truth["group"].append(name)
            said["label"].append("yes" if row < right else "no")
    scored = gnomon.score("labels", truth, said).to_pandas().iloc[0]
    score, low, high = (float(scored[key]) for key in ("accuracy", "accuracy_low", "accuracy_high"))

    def at(value: float) -> float:
        return 200 + (value - 0.5) * 960

    good, rows = (sum(column) for column in zip(*PEOPLE.values(), strict=True))
    parts = [text(20, 30, "leave out", "soft"), text(200, 30, "the score of the others", "soft")]
    for place, (name, (right, own)) in enumerate(PEOPLE.items()):
        y = 56 + 26 * place
        value = (good - right) / (rows - own)
        parts += [text(20, y + 5, name), f'<path class="edge" d="M200,{y} L690,{y}" opacity="0.4"/>']
        parts += [
            f'<circle class="b edge" cx="{at(value):g}" cy="{y}" r="6"/>',
            text(at(value) + 12, y + 5, f"{value:.3f}", "ink small"),
        ]
    y = 56 + 26 * len(PEOPLE) + 16
    parts += [
        text(20, y + 5, "everybody", "ink strong"),
        f'<path class="arrow" d="M{at(low):g},{y} L{at(high):g},{y}"/>',
    ]
    parts += [f'<path class="arrow" d="M{at(end):g},{y - 8} L{at(end):g},{y + 8}"/>' for end in (low, high)]
    parts += [f'<rect class="a edge" x="{at(score) - 6:g}" y="{y - 6}" width="12" height="12"/>']
    said_words = f"{score:.3f} [{low:.3f}, {high:.3f}]"
    parts += [text(at(score), y + 28, said_words, "ink strong", "middle")]
    parts += [text(20, y + 56, "How far the dots move is how much the score depends on who was there.", "soft")]
    title = f"The score without each of six people, and the interval of the whole that follows from it: {said_words}."
    return picture(y + 74, title, *parts)


def folds() -> str:
    """Draw groups that are dealt into folds."""
    names = list(PEOPLE)
    parts = [text(150 + 92 * place + 38, 30, name, "ink strong", "middle") for place, name in enumerate(names)]
    for fold in range(3):
        y = 44 + 44 * fold
        parts.append(text(20, y + 22, f"fold {fold + 1}"))
        for place in range(len(names)):
            tested = place % 3 == fold
            words, kind = ("test", "b") if tested else ("train", "a")
            parts.append(box(150 + 92 * place, y, 76, 32, words, kind))
    parts.append(text(20, 196, "Everybody is tested once, by a system that was fitted on others.", "soft"))
    parts.append(
        text(
            20,
            218,
            "The tallies of all folds are put together; the score is of the whole, not a mean of folds.",
            "soft",
        )
    )
    return picture(234, "Six people dealt into three folds: in each, two are tested and four are trained on.", *parts)


def variants() -> str:
    """Draw a split over windows beside one over people."""
    parts = [
        text(150, 30, "published (har): over windows", "ink strong"),
        text(450, 30, "strict: over people", "ink strong"),
    ]
    mixed = ("TTtTTtTT", "TtTTTTtT", "TTTtTTTt", "tTTTtTTT")
    for place, name in enumerate(("anna", "ben", "cara", "dan")):
        y = 44 + 34 * place
        parts.append(text(20, y + 18, name))
        for column, mark in enumerate(mixed[place]):
            parts.append(
                box(
                    150 + 30 * column, y, 26, 24, "test" if mark == "t" else "", "b" if mark == "t" else "a", small=True
                )
            )
            held = place == 3
            parts.append(box(450 + 30 * column, y, 26, 24, "test" if held else "", "b" if held else "a", small=True))
    parts.append(
        text(
            20,
            204,
            "Left, windows are tested whose owners were trained on; right, nobody is on both sides.",
            "soft",
        )
    )
    parts.append(text(20, 224, "Boxes without a word are trained on. Both are scored, and the gap is shown.", "soft"))
    return picture(242, "A split over windows puts everybody on both sides; a split over people does not.", *parts)


def run() -> str:
    """Draw the files of a run and what is derived from what."""
    parts = [
        box(20, 20, 150, 56, "truth (not stored)", "ground", small=True),
        box(20, 96, 150, 56, "predictions.parquet", small=True),
    ]
    parts += [arrow(172, 48, 224, 76), arrow(172, 124, 224, 96), box(230, 58, 150, 56, kind="b")]
    parts += [
        text(305, 82, "tallies.npz", "ink strong", "middle"),
        text(305, 102, "(ledgers.npz)", "ink small", "middle"),
    ]
    parts += [arrow(382, 86, 424, 48), arrow(382, 86, 424, 124)]
    parts += [box(430, 20, 130, 56, "scores.json"), box(430, 96, 130, 56, "audit.json")]
    parts += [arrow(562, 48, 594, 48), arrow(562, 124, 594, 124)]
    parts += [text(602, 44, "value, interval,", "soft small"), text(602, 60, "count, reason", "soft small")]
    parts += [text(602, 120, "findings,", "soft small"), text(602, 136, "claims", "soft small")]
    names = ("manifest.json", "coverage.json", "samples.parquet", "exhibits.npz", "seal.sha256")
    told = (
        "what was asked, by which code",
        "cases, groups, what is missing",
        "who was trained on",
        "the worst cases",
        "hashes of all",
    )
    for place, (name, why) in enumerate(zip(names, told, strict=True)):
        x, y = 20 + 236 * (place % 3), 184 + 62 * (place // 3)
        parts += [box(x, y, 140, 28, name, "ground", small=True), text(x, y + 46, why, "soft small")]
    return picture(312, "The files of a run: predictions give tallies, tallies give scores and the audit.", *parts)


PICTURES = {"fold": fold, "resample": resample, "folds": folds, "variants": variants, "run": run}


def main() -> int:
    """Write or check the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; leave with 1 where one differs")
    check = parser.parse_args().check
    different = []
    for name, draw in PICTURES.items():
        path, drawn = HERE / f"concepts-{name}.svg", draw()
        if not path.is_file() or path.read_text(encoding="utf-8") != drawn:
            different.append(path.name)
            if not check:
                path.write_text(drawn, encoding="utf-8")
    print("\n".join(f"{name}: {'differs' if check else 'written'}" for name in different) or "as drawn")  # noqa: T201
    return 1 if different and check else 0


if __name__ == "__main__":
    sys.exit(main())
