"""What the README shows is what the program prints."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def test_the_capture_in_the_readme_is_real(tmp_path, monkeypatch):
    text = README.read_text(encoding="utf-8")
    start = text.index("```text\n$ gnomon simulate labels demo") + len("```text\n")
    shown = text[start : text.index("```", start)].rstrip()
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with pytest.raises(SystemExit) as left, contextlib.redirect_stdout(out):
        main(["demo", "--suite", "labels"])
    assert left.value.code == 0
    assert out.getvalue().startswith(shown)


def test_real_figures_are_those_of_the_page_that_makes_them():
    """Both are real: the page of labels is produced from the data, the README repeats two rows of it and a finding."""
    text, page = (path.read_text(encoding="utf-8") for path in (README, ROOT / "docs/labels.md"))
    shown = re.findall(r"^\| folds over (people|rows) \| (.+?) \|$", text, re.MULTILINE)
    row = r"^ examples/labels/neighbours\.py:Neighbours  +1,901  +([\d,]+)  +(\S+ \[\S+ \S+\])"
    made = dict(re.findall(row, page, re.MULTILINE))
    assert shown == [("people", made["10"]), ("rows", made["1,901"])]
    (finding,) = re.findall(r"^  error: exact-duplicates.*?To do:.*?$", text, re.MULTILINE | re.DOTALL)
    assert finding in page


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left, contextlib.redirect_stdout(io.StringIO()):
        main(["template", "labels", "my-data"])
    assert left.value.code == 0
    (code,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "macro f1" in done.stdout
