"""Make the notebooks: execute the scripts in ``source`` and write each with its outputs as a notebook.

``python notebooks/make.py [NAME...]`` writes ``NAME.ipynb``, all of them without names; with ``--check`` it executes,
says which differ, and leaves with 1. A script is Python in the percent format: ``# %%`` begins a cell of code,
``# %% [markdown]`` one of text, whose lines are comments; what stands before the first belongs to the script alone.
A line ``# !command`` of a cell of code is ``!command`` in the notebook, and a shell runs it.

The cells of a notebook run in one namespace, in an empty folder that goes with them, without a kernel: they need what
gnomon needs, and pandas. An output is what a cell prints, and the value of the expression at its end as text and, where
it has it, as HTML. There are no counts and no times, and the names of cells follow from their text, so that the same
code gives the same bytes and a difference can be read.
"""

import argparse
import ast
import builtins
import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
MARK = re.compile(r"^# %%( \[markdown\])?[^\n]*\n", re.MULTILINE)
SHELL = re.compile(r"^# !", re.MULTILINE)
PIECES = re.compile(r"(?<=\n)|(?<=</tr>)(?=.)")
"""Where long texts are cut into the lines of the file: at ends of lines, and of rows of a table."""
Json = dict[str, Any]


class Cell(NamedTuple):
    """A cell as a script holds it."""

    text: str
    prose: bool


def cells(script: str) -> list[Cell]:
    r"""Return the cells of a script in the percent format.

    >>> cells("# %% [markdown]\n# Two\n#\n# lines\n# %%\n# !date\n1 + 1\n")
    [Cell(text='Two\n\nlines', prose=True), Cell(text='!date\n1 + 1', prose=False)]
    """
    marks = list(MARK.finditer(script))
    ends = [mark.start() for mark in marks[1:]] + [len(script)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        text = script[mark.end() : end].strip("\n")
        prose = mark[1] is not None
        found.append(Cell(re.sub(r"^# ?", "", text, flags=re.MULTILINE) if prose else SHELL.sub("!", text), prose))
    return found


def executed(found: list[Cell]) -> list[Json]:
    """Execute the cells one after another in an empty folder; return them as a notebook holds them."""
    namespace: Json = {"__name__": "__main__", "__builtins__": builtins}
    names: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="gnomon-notebook-") as folder, contextlib.chdir(folder):
        return [_cell(cell, namespace, names) for cell in found]


def _cell(cell: Cell, namespace: Json, names: set[str]) -> Json:
    common = {"id": _name(cell.text, names), "metadata": {}, "source": _lines(cell.text)}
    if cell.prose:
        return {"cell_type": "markdown", **common}
    return {"cell_type": "code", "execution_count": None, **common, "outputs": list(_outputs(cell.text, namespace))}


def _outputs(text: str, namespace: Json) -> Iterator[Json]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = _value(text, namespace)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
    if value is not None:
        shown = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = _lines(value._repr_html_())
        yield {"data": shown, "execution_count": None, "metadata": {}, "output_type": "execute_result"}


def _value(text: str, namespace: Json) -> Any:
    """Execute a cell; return the value of the expression at its end, None where there is no such thing."""
    shells = re.sub(r"^!(.*)$", lambda line: f"__shell({line[1]!r})", text, flags=re.MULTILINE)
    namespace["__shell"] = _shell
    tree = ast.parse(shells)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), namespace)  # noqa: S102 - the scripts are our own
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)  # noqa: S307


def _shell(command: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - the scripts are our own
        ["bash", "-o", "pipefail", "-c", command],  # noqa: S607
        env={**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"!{command}\nleft with {done.returncode}:\n{done.stdout}")
    sys.stdout.write(done.stdout)


def _name(text: str, names: set[str]) -> str:
    """Name a cell after its text; of equal ones the later have a number."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    name = next(name for name in (digest, *(f"{digest}-{n}" for n in range(2, 1000))) if name not in names)
    names.add(name)
    return name


def _lines(text: str) -> list[str]:
    return [piece for piece in PIECES.split(text) if piece]


def notebook(script: str) -> str:
    """Return the notebook of a script, with the outputs that it has now."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": executed(cells(script)), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    """Write or check notebooks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="notebooks, without suffix; default: all")
    parser.add_argument("--check", action="store_true", help="write nothing; leave with 1 where one differs")
    given = parser.parse_args()
    different = []
    for name in given.names or sorted(path.stem for path in (HERE / "source").glob("*.py")):
        path = HERE / f"{name}.ipynb"
        after = notebook((HERE / "source" / f"{name}.py").read_text(encoding="utf-8"))
        if not path.is_file() or after != path.read_text(encoding="utf-8"):
            different.append(name)
            if not given.check:
                path.write_text(after, encoding="utf-8")
    print("\n".join(f"{name}: {'differs' if given.check else 'written'}" for name in different) or "as produced")  # noqa: T201
    return 1 if different and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
