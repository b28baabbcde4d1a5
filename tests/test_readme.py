"""What the README shows is what the program prints."""

import contextlib
import io
from pathlib import Path

import pytest

from gnomon.cli.main import main

README = Path(__file__).resolve().parent.parent / "README.md"


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
