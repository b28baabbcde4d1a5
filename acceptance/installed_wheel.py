"""The wheel in an empty environment: import, ``gnomon --help`` and scoring 1,000 rows are quick; import stays light.

Figures are CPU-seconds of the child process, user and system, after one run that fills caches. Tests of packaging use
the same environments, and ``python -m acceptance.installed_wheel sizes`` prints what the extras weigh.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from acceptance.support import ROOT, Promise

HEAVY = ("numpy", "numba", "scipy", "torch", "pandas", "altair", "pyarrow")
TIMES = 5
ROWS = ("--groups", "20", "--rows", "50")
BOUNDS = {"import": 0.25, "help": 0.25, "score": 1.5}
NOT_OURS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
MB = 1e6


def built(out: Path, kind: str = "wheel", source: Path = ROOT) -> Path:
    """Build a wheel or an sdist from a source tree and return its file."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(out), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (made,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


class Environment:
    """An empty virtual environment; its commands see nothing of the one that made it."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        if python == sys.executable:
            venv.create(folder, with_pip=True)
        else:
            subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True)
        self.variables = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        self.variables = {name: value for name, value in self.variables.items() if not name.startswith("GNOMON_")}
        self.variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{self.variables['PATH']}"

    def program(self, name: str) -> str:
        """Return the path of a program of this environment."""
        return str(self.folder / "bin" / name)

    def install(self, *what: str | Path, constrained: bool = True) -> None:
        """Install with pip, in the versions that the project is tested with unless told otherwise."""
        options = ["-c", str(ROOT / "constraints.txt")] if constrained else []
        self.run("python", "-m", "pip", "install", "--quiet", *options, *map(str, what), cwd=self.folder)

    def run(self, program: str, *arguments: str, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment in a folder; a failure shows what it printed."""
        command = [self.program(program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=self.variables, cwd=cwd, check=False)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)} left with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done

    def size(self) -> int:
        """Return the bytes of what is installed, without pip, its companion and compiled modules."""
        (packages,) = self.folder.glob("lib/python*/site-packages")
        skipped = ("pip", "setuptools", "_distutils_hack", "pkg_resources")
        return sum(
            path.stat().st_size
            for path in packages.rglob("*")
            if path.is_file()
            and not path.is_symlink()
            and "__pycache__" not in path.parts
            and path.relative_to(packages).parts[0].partition("-")[0] not in skipped
        )

    def packages(self) -> set[str]:
        """Return the names of what is installed, without pip and its companion."""
        listed = self.run("python", "-m", "pip", "list", "--format", "freeze", cwd=self.folder).stdout.split()
        return {line.partition("==")[0].lower() for line in listed} - {"pip", "setuptools"}


def cpu_seconds(command: Sequence[str], environment: Environment, cwd: Path) -> float:
    """Return user and system time of one child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment.run(command[0], *command[1:], cwd=cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(promise: Promise, environment: Environment, folder: Path) -> None:
    """State the CPU-seconds of the three commands against their bounds."""
    environment.run("gnomon", "simulate", "labels", "data", *ROWS, cwd=folder)
    rows = sum(1 for _ in (folder / "data/truth.csv").open()) - 1
    promise.figure("rows that are scored", rows, "1,000", rows == 1000)
    score = ("score", "labels", "--truth", "data/truth.csv", "--predictions", "data/strong.csv", "--out", "runs")
    commands = {
        "import": ("import gnomon", ["python", "-c", "import gnomon"]),
        "help": ("gnomon --help", ["gnomon", "--help"]),
        "score": ("gnomon score labels, 1,000 rows", ["gnomon", *score]),
    }
    for key, (title, command) in commands.items():
        cold = cpu_seconds(command, environment, folder)
        times = [cpu_seconds(command, environment, folder) for _ in range(TIMES)]
        print(f"   {title}: {cold:.2f} CPU-seconds the first time, then {', '.join(f'{t:.3f}' for t in times)}")
        promise.at_most(f"{title}, median CPU-seconds of {TIMES}", statistics.median(times), BOUNDS[key])


def sizes(wheel: Path, extras: Sequence[str], folder: Path) -> None:
    """Print what the base install and every extra weigh in an empty environment of their own."""
    base = None
    for extra in ("", *extras):
        environment = Environment(folder / (extra or "base"))
        environment.install(f"{wheel}[{extra}]" if extra else wheel)
        size, names = environment.size() / MB, environment.packages()
        base = base or (size, names)
        more = f"; +{size - base[0]:.0f} MB, {len(names - base[1])} packages more" if extra else ""
        print(f"{extra or 'base'}: {size:.0f} MB, {len(names)} packages{more}", flush=True)
        print(f"   {', '.join(sorted(names - base[1] if extra else names))}", flush=True)


def main() -> None:
    """Build, install, measure."""
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = built(folder / "dist")
        if sys.argv[1:2] == ["sizes"]:
            sizes(wheel, sys.argv[2:], folder)
            return
        promise.at_most("wheel, MB", wheel.stat().st_size / MB, 2)
        environment = Environment(folder / "empty")
        environment.install(wheel)
        code = f"import gnomon, sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
        loaded = environment.run("python", "-c", code, cwd=folder).stdout.split()
        promise.figure("heavy modules after import gnomon", ", ".join(loaded) or "none", "none", not loaded)
        speed(promise, environment, folder)
    promise.close()


if __name__ == "__main__":
    main()
