"""A Dask scheduler and workers as programs of their own on loopback, for acceptance scripts and tests."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS = 60
DASK = (sys.executable, "-m", "distributed.cli.dask_scheduler"), (sys.executable, "-m", "distributed.cli.dask_worker")


class Programs:
    """A scheduler and its workers; each can be killed and started again."""

    def __init__(self, folder: Path, certificates: tuple[str, ...] = ()) -> None:
        """Keep files in a folder; options that name certificates make it a cluster with TLS."""
        self.folder, self.file, self.certificates = folder, folder / "scheduler.json", certificates
        self.port = 0
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.started = 0

    @property
    def address(self) -> str:
        """Host and port of the scheduler."""
        return f"127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        """Start it on a free port, or on the one that it had before."""
        self.file.unlink(missing_ok=True)
        options = [
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
            *(("--protocol", "tls", *self.certificates) if self.certificates else ()),
        ]
        self.scheduler = self._program(DASK[0], options, "scheduler", self.folder)
        until = time.monotonic() + SECONDS
        while not (self.file.exists() and self.file.stat().st_size):
            if self.scheduler.poll() is not None or time.monotonic() > until:
                raise RuntimeError(
                    f"the scheduler did not start: {(self.folder / 'scheduler.log').read_text()[-2000:]}"
                )
            time.sleep(0.05)
        import json

        self.port = int(json.loads(self.file.read_text())["address"].rpartition(":")[2])

    def start_worker(self, *more: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a worker of one thread, without a nanny: whoever kills it kills the worker itself."""
        self.started += 1
        own = self.folder / f"worker{self.started}"
        own.mkdir()
        scheme = "tls" if self.certificates else "tcp"
        options = [f"{scheme}://{self.address}", "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        options += ["--local-directory", str(own), *self.certificates, *more]
        worker = self._program(DASK[1], options, f"worker{self.started}", cwd or self.folder)
        self.workers.append(worker)
        return worker

    def kill(self, program: subprocess.Popen[bytes]) -> None:
        """Kill a program and take it in."""
        program.send_signal(signal.SIGKILL)
        program.wait()
        if program in self.workers:
            self.workers.remove(program)

    def _program(self, program: tuple[str, ...], options: list[str], name: str, cwd: Path) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*program, *options], cwd=cwd, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=dict(os.environ)
            )


@contextlib.contextmanager
def programs(folder: Path, workers: int = 3, certificates: tuple[str, ...] = ()) -> Iterator[Programs]:
    """Start a scheduler and workers; all are stopped at the end."""
    found = Programs(folder, certificates)
    try:
        found.start_scheduler()
        for _ in range(workers):
            found.start_worker()
        yield found
    finally:
        for program in [*found.workers, *filter(None, [found.scheduler])]:
            program.kill()
            program.wait()
