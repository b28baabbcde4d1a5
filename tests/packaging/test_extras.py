"""Every extra in an empty environment: missing, then got by the command that ``gnomon doctor`` names, then used."""

import contextlib
import json
import re
import shlex
import subprocess
import tomllib
import urllib.request
from pathlib import Path

import pytest
from acceptance.installed_wheel import Environment

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
SECONDS = 60
MARKS = {"models": pytest.mark.training}
"""The extra ``models`` takes minutes: torch is large, and a model is trained."""


def forest(environment, folder):
    gnomon(environment, folder, "simulate har data --datasets dsads,wisdm,motionsense --subjects 3 --minutes 1")
    systems = "--train dsads,wisdm --test motionsense --systems random_forest --tasks sup-10"
    done = gnomon(environment, folder, f"run har --data-root data {systems} --profile smoke", check=False)
    return done, done.returncode == 0 and bool(list(folder.glob("runs/har-random_forest-*/scores.json")))


def episodes(environment, folder):
    done = gnomon(environment, folder, "simulate episode kitchens --episodes 1 --frames 60", check=False)
    return done, bool(list(folder.glob("kitchens/**/*.hdf5")))


def frames(environment, folder):
    labels = "{'id': [1, 2], 'label': ['a', 'b']}"
    code = f"import gnomon; print(type(gnomon.score('labels', {labels}, {labels}).to_pandas()))"
    done = environment.run("python", "-c", code, cwd=folder, check=False)
    return done, "pandas" in done.stdout


def workbook(environment, folder):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["who", "true", "said"], ["anna", "a", "a"], ["ben", "b", "a"]):
        book.active.append(row)
    book.save(folder / "results.xlsx")
    command = "score labels --table results.xlsx --truth true --predictions A=said --group who --out none --json"
    done = gnomon(environment, folder, command, check=False)
    return done, '"accuracy"' in done.stdout


def figures(environment, folder):
    scored(environment, folder)
    done = gnomon(environment, folder, "report runs --figures figures", check=False)
    return done, bool(list(folder.glob("figures/*.svg"))) and bool(list(folder.glob("figures/*.pdf")))


def dashboard(environment, folder):
    scored(environment, folder)
    command = [environment.program("gnomon"), "serve", "--runs", "runs", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment.variables, cwd=folder)
    try:
        line = process.stderr.readline()
        address = re.search(r"http://\S+", line)
        page = ""
        if address:
            with contextlib.closing(urllib.request.urlopen(address[0], timeout=SECONDS)) as answer:
                page = answer.read().decode()
        else:
            process.wait(SECONDS)
    finally:
        process.terminate()
        code = process.wait(SECONDS)
        process.stderr.close()
    done = subprocess.CompletedProcess(command, 0 if address else code, page, line)
    return done, "strong" in page


def models(environment, folder):
    gnomon(environment, folder, "simulate har data --datasets dsads,motionsense --subjects 3 --minutes 1")
    systems = "--train dsads --test motionsense --systems limubert --tasks sup-10"
    done = gnomon(environment, folder, f"run har --data-root data {systems} --profile smoke", check=False)
    return done, done.returncode == 0 and bool(list(folder.glob("runs/har-limubert-*/scores.json")))


def suite(environment, folder):
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests/core"), "-k", "canonical")
    done = environment.run("python", *command, "--rootdir", str(ROOT), cwd=folder, check=False)
    return done, " passed" in done.stdout


def cluster(environment, folder):
    gnomon(environment, folder, "simulate labels data --groups 6 --rows 20")
    done = gnomon(environment, folder, "run labels --truth data/truth.csv --executor dask --workers 1", check=False)
    return done, done.returncode == 0 and bool(list(folder.glob("runs/labels-*/scores.json")))


USES = {
    "classical": forest,
    "cluster": cluster,
    "dashboard": dashboard,
    "episode": episodes,
    "excel": workbook,
    "frames": frames,
    "models": models,
    "report": figures,
    "test": suite,
}


def gnomon(environment, folder, arguments, check=True):
    return environment.run("gnomon", *arguments.split(), cwd=folder, check=check)


def scored(environment, folder):
    if not (folder / "runs").exists():
        gnomon(environment, folder, "simulate labels data --groups 6 --rows 20")
        gnomon(environment, folder, "score labels --truth data/truth.csv --predictions strong=data/strong.csv")


def told(environment, folder, name):
    extras = json.loads(gnomon(environment, folder, "doctor --json").stdout)["extras"]
    return next(extra for extra in extras if extra["name"] == name)


def test_every_extra_is_used():
    assert sorted(USES) == EXTRAS


@pytest.mark.install
@pytest.mark.parametrize("extra", [pytest.param(name, marks=MARKS.get(name, ())) for name in EXTRAS])
def test_an_extra_is_missing_is_got_and_works(wheel, tmp_path, extra):
    environment = Environment(tmp_path / "env")
    environment.install(wheel)
    before = told(environment, tmp_path, extra)
    assert not before["installed"]
    done, works = USES[extra](environment, tmp_path)
    assert done.returncode != 0
    assert not works
    if extra != "test":
        named = re.findall(r"gnomon\[(\w+)\]", done.stderr)
        assert extra in named, done.stderr
    pip, verb, what = shlex.split(before["command"])
    assert (pip, verb) == ("pip", "install")
    environment.install(what)
    after = told(environment, tmp_path, extra)
    assert after["installed"], after
    done, works = USES[extra](environment, tmp_path)
    assert done.returncode == 0, done.stderr
    assert works, done.stdout
