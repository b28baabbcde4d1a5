"""The job of ``examples/slurm``: it ends as gnomon does, or says what ended before it; SLURM and Dask are stand-ins."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples/slurm/gnomon.sbatch"
SLEEP = shutil.which("sleep")
STAYS = f"exec {SLEEP} 60"
ENDS = "echo 'no such partition' >&2; exit 3"
pytestmark = pytest.mark.skipif(
    not (SLEEP and shutil.which("bash") and shutil.which("openssl")), reason="needs bash and openssl"
)

SCHEDULER = 'while [ "$1" != --scheduler-file ]; do shift; done; echo "{}" > "$2"; '
WAITS_FOR_WORKERS = 'until [ -e "$SLURM_SUBMIT_DIR/srun.pid" ]; do sleep 0.1; done; '


def submitted(folder, *, dask=SCHEDULER + STAYS, srun=STAYS, gnomon=WAITS_FOR_WORKERS + "exit 0", seconds=30):
    """Run the script where every command is a few words of shell; a command notes its process before it does them.

    The script looks often: its sleep is a short one. What it prints ends when the last of its commands has ended, which
    is waited for a shorter time than one that stays would stay: a command that is left running is an error.
    """
    where = folder / "env" / "bin"
    where.mkdir(parents=True)
    (where / "activate").write_text(f'PATH="{where}:$PATH"\n')
    for name, does in {"dask": dask, "srun": srun, "gnomon": gnomon}.items():
        (where / name).write_text(f'#!/bin/bash\necho $$ > "$SLURM_SUBMIT_DIR/{name}.pid"\n{does}\n')
    (where / "sleep").write_text(f"#!/bin/bash\nexec {SLEEP} 0.05\n")
    for name in ("dask", "srun", "gnomon", "sleep"):
        (where / name).chmod(0o755)
    slurm = {"SLURM_SUBMIT_DIR": str(folder), "SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "8", "TMPDIR": str(folder)}
    command = ["bash", str(SCRIPT)]
    return subprocess.run(command, env={**os.environ, **slurm}, capture_output=True, text=True, timeout=seconds)


@pytest.mark.parametrize("code", [0, 1])
def test_the_job_ends_as_gnomon_does(tmp_path, code):
    done = submitted(tmp_path, gnomon=f"{WAITS_FOR_WORKERS} echo scores; exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "scores\n", "")


@pytest.mark.parametrize("code", [0, 3])
def test_workers_that_end_before_gnomon_end_the_job(tmp_path, code):
    done = submitted(tmp_path, srun=f"echo 'no such partition' >&2; exit {code}", gnomon=STAYS)
    assert done.returncode == 1
    assert "the workers ended before gnomon did" in done.stderr
    assert f"{tmp_path}/cluster-7/srun.log" in done.stderr
    assert "no such partition" in done.stderr


def test_a_scheduler_that_ends_before_gnomon_ends_the_job(tmp_path):
    done = submitted(tmp_path, dask=f"{SCHEDULER} {WAITS_FOR_WORKERS} {ENDS}", gnomon=STAYS)
    assert done.returncode == 1
    assert "the scheduler ended before gnomon did" in done.stderr
    assert "no such partition" in done.stderr


def test_a_scheduler_that_does_not_begin_ends_the_job(tmp_path):
    done = submitted(tmp_path, dask=ENDS)
    assert done.returncode == 1
    assert "no such partition" in done.stdout + done.stderr
    assert not (tmp_path / "gnomon.pid").exists()


@pytest.mark.slow
def test_scheduler_and_workers_ask_for_the_certificate_of_the_job(tmp_path):
    """Dask and gnomon are real; gnomon is given smaller work, and SLURM starts one worker, here."""
    pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")
    rows = [f"{n},{'ab'[n % 2]},g{n % 5},{n}" for n in range(20)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label,group,x", *rows, ""]))
    done = submitted(
        tmp_path,
        dask=f'exec {sys.executable} -m dask "$@"',
        srun='while [ "$1" != bash ]; do shift; done; exec "$@" --host 127.0.0.1',
        gnomon='while [ "$1" != --executor ]; do shift; done; '
        f"exec {sys.executable} -m gnomon run labels --truth truth.csv --folds 2 --executor $2 --resources GPU=1",
        seconds=200,
    )
    assert done.returncode == 0, done.stderr
    assert "nearest_mean" in done.stdout
    assert "certificate" not in done.stderr
    here = tmp_path / "cluster-7"
    assert "Scheduler at: tls://" in " ".join((here / "scheduler.log").read_text().split())
    assert stat.S_IMODE((here / "key.pem").stat().st_mode) == 0o600
