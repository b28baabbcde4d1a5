"""The user's key and signatures of artefacts: who may sign, what a signature covers, and what is loaded."""

import os
import pickle
import shutil
import stat
import subprocess
import sys

import pytest

from gnomon.core.errors import InputError, IntegrityError
from gnomon.engine import signing
from gnomon.engine.job import work
from gnomon.engine.plan import Node, Plan
from gnomon.engine.store import Store
from gnomon.engine.work import Order, carry_out

KEY = "ab" * 32
OTHER = "cd" * 32


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's folder of state; returns where the key is."""
    monkeypatch.delenv(signing.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "gnomon" / "key"


@pytest.fixture
def artefact(tmp_path, home):
    """The signed folder of a pickled value, and the secrets that it was signed with."""
    folder = tmp_path / KEY
    (folder / "more").mkdir(parents=True)
    signing.dump({"level": 2}, folder / "own.pickle", "toy", "no remedy")
    (folder / "more" / "facts.json").write_text("{}")
    secrets = signing.secrets_of([KEY, OTHER])
    signing.sign(folder, secrets[KEY])
    return folder, secrets


def load(folder, secrets):
    with signing.holding(secrets):
        return signing.load(folder / "own.pickle", dict)


def test_the_key_is_made_once_for_this_user_alone(home):
    found = signing.user_key()
    assert len(found) == 32
    assert home.read_bytes() == found == signing.user_key()
    assert stat.S_IMODE(home.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700
    assert [path.name for path in home.parent.iterdir()] == ["key"]


def test_a_key_is_named_by_the_environment(tmp_path, home, monkeypatch):
    monkeypatch.setenv(signing.VARIABLE, str(tmp_path / "ci" / "key"))
    assert signing.user_key() == (tmp_path / "ci" / "key").read_bytes()
    assert not home.exists()


def test_without_a_folder_of_state_the_key_is_in_the_home(tmp_path, monkeypatch):
    monkeypatch.delenv(signing.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for state in ("", "relative/folder"):  # the specification of the variable says that a relative one is ignored
        monkeypatch.setenv("XDG_STATE_HOME", state)
        assert signing.key_file() == tmp_path / ".local" / "state" / "gnomon" / "key"


def test_eight_processes_that_make_a_key_at_once_have_the_same_one(home, tmp_path):
    """Each waits until all are there, so that they meet."""
    code = (
        "import pathlib, sys, time\nfrom gnomon.engine import signing\n"
        "folder = pathlib.Path(sys.argv[1])\n(folder / sys.argv[2]).touch()\n"
        "until = time.monotonic() + 60\n"
        "while len(list(folder.iterdir())) < 8 and time.monotonic() < until: pass\n"
        "print(signing.user_key().hex())"
    )
    ready = tmp_path / "ready"
    ready.mkdir()
    command = [sys.executable, "-c", code, str(ready)]
    started = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(8)]
    found = [process.communicate(timeout=120)[0].strip() for process in started]
    assert found == [home.read_bytes().hex()] * 8


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_key_that_others_can_use_is_refused(home, mode):
    signing.user_key()
    home.chmod(mode)
    with pytest.raises(InputError, match=rf"key can be read or written by others \(mode {mode:04o}, expected 0600\)"):
        signing.user_key()


def test_a_key_of_somebody_else_is_refused(home, monkeypatch):
    signing.user_key()
    monkeypatch.setattr(os, "geteuid", lambda: home.stat().st_uid + 1)
    with pytest.raises(InputError, match=r"belongs to user \d+, expected \d+"):
        signing.user_key()


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_file_that_is_no_key_is_refused(home, content):
    home.parent.mkdir(parents=True)
    home.touch(0o600)
    home.write_bytes(content)
    with pytest.raises(InputError, match="expected this user's key, 32 bytes, but got"):
        signing.user_key()


def test_what_is_no_plain_file_is_refused_without_waiting(home):
    home.mkdir(parents=True)
    with pytest.raises(InputError, match="no plain file"):
        signing.user_key()
    home.rmdir()
    os.mkfifo(home)
    with pytest.raises(InputError, match="no plain file"):
        signing.user_key()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_key_is_refused(home):
    signing.user_key()
    home.chmod(0)
    with pytest.raises(InputError, match=r"cannot be read or made there \(Permission denied\)"):
        signing.user_key()


def test_a_named_key_that_cannot_be_made_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(signing.VARIABLE, str(tmp_path / "file" / "key"))
    with pytest.raises(InputError, match="cannot be read or made there"):
        signing.user_key()


@pytest.mark.parametrize("state", ["file", ""])
def test_without_a_home_the_process_has_a_key_of_its_own(tmp_path, monkeypatch, capsys, state):
    """A home that is a file cannot hold a key; neither can one that is not known."""
    signing._key_of_process.cache_clear()
    (tmp_path / "file").touch()
    monkeypatch.delenv(signing.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / state) if state else "")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    found = signing.user_key()
    assert found == signing.user_key()
    assert len(found) == 32
    assert capsys.readouterr().err.count("key cannot be kept") == 1
    signing._key_of_process.cache_clear()


def test_what_was_signed_is_loaded(artefact):
    assert load(*artefact) == {"level": 2}


def test_the_seal_is_no_part_of_what_is_signed(artefact):
    folder, secrets = artefact
    (folder / "seal.sha256").write_text("made afterwards")
    assert load(folder, secrets) == {"level": 2}


def damage_nothing_but_the_signature(folder):
    (folder / signing.NAME).write_text("0" * 64)


def remove_the_signature(folder):
    (folder / signing.NAME).unlink()


def write_other_text(folder):
    (folder / signing.NAME).write_bytes(b"\xff" * 100)


def replace_the_pickle(folder):
    (folder / "own.pickle").write_bytes(pickle.dumps("other"))


def change_another_file(folder):
    (folder / "more" / "facts.json").write_text("{ }")


def add_a_file(folder):
    (folder / "more.txt").touch()


def rename_a_file(folder):
    (folder / "more" / "facts.json").rename(folder / "facts.json")


def add_a_link(folder):
    (folder / "link").symlink_to(folder / "own.pickle")


@pytest.mark.parametrize(
    "change",
    [
        damage_nothing_but_the_signature,
        remove_the_signature,
        write_other_text,
        replace_the_pickle,
        change_another_file,
        add_a_file,
        rename_a_file,
        add_a_link,
    ],
)
def test_what_was_changed_is_not_loaded(artefact, change):
    folder, secrets = artefact
    change(folder)
    assert not signing.may_load(folder, secrets)
    with pytest.raises(IntegrityError, match="not signed with this user's key"):
        load(folder, secrets)


def test_what_was_moved_to_another_key_is_not_loaded(artefact, tmp_path):
    folder, secrets = artefact
    shutil.copytree(folder, tmp_path / OTHER)
    assert signing.may_load(folder, secrets)
    with pytest.raises(IntegrityError):
        load(tmp_path / OTHER, secrets)


def test_what_another_user_signed_is_not_loaded(artefact, home):
    folder, _ = artefact
    home.unlink()
    with pytest.raises(IntegrityError):
        load(folder, signing.secrets_of([KEY]))


def test_nothing_is_loaded_outside_of_an_order(artefact):
    with pytest.raises(IntegrityError):
        signing.load(artefact[0] / "own.pickle", dict)


def trained(name="trained", **arguments):
    return Node(name, "engine_toys:write", {"text": name, **arguments}, kind="artefact", signed=True)


def test_no_key_is_made_where_nothing_is_signed(node, options, home):
    work(Plan([node("plain")]), options())
    assert not home.exists()


@pytest.mark.parametrize("executor", ["inline", "processes", "dask"])
def test_workers_sign_with_the_key_of_the_command(node, options, home, tmp_path, executor):
    """A second command finds both; one by another user makes the artefact again only where a cell needs it."""
    if executor == "dask":
        pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")
    log = tmp_path / "log"
    data = trained(log=str(log))
    first, second = node("first", needs={"data": data}), node("second", needs={"data": data})
    given = options(executor=executor, workers=1)
    for cells in ([first], [first], [first, second]):
        assert work(Plan(cells), given).complete
    assert log.read_text() == "trained\n"
    store = Store(given.store_folder())
    home.unlink()
    assert work(Plan([first]), given).complete
    assert log.read_text() == "trained\n"  # the cell is stored, so the artefact is not loaded
    shutil.rmtree(store.path(second.key))
    assert work(Plan([second]), given).complete
    assert log.read_text() == "trained\n" * 2
    assert [path.name[:64] for path in (store.folder / "damaged").iterdir()] == [data.key]


def test_what_is_not_loaded_is_said_in_one_line(node, options, home, capfd):
    cells = [node(f"cell {n}", needs={"data": trained(f"trained {n}", n=n)}) for n in range(5)]
    work(Plan(cells), options())
    home.unlink()
    for cell in cells:
        shutil.rmtree(Store(options().store_folder()).path(cell.key))
    capfd.readouterr()
    assert work(Plan(cells), options()).complete
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "not signed" in line]
    assert line.startswith("gnomon: 5 trained systems in the store not signed with this user's key: not loaded")


def test_an_artefact_that_is_replaced_while_a_command_works_is_asked_for_again(node, tmp_path, home):
    """Two users with one store: what the other has signed is not loaded, and not made again by the cell itself."""
    store, data = Store(tmp_path / "store"), trained()
    cell = node("cell", needs={"data": data})
    mine = signing.secrets_of([data.key])
    home.unlink()
    theirs = signing.secrets_of([data.key])
    assert carry_out(store, Order.of(data, "", mine)).state == "done"
    assert carry_out(store, Order.of(data, "", theirs)).state == "done"
    reply = carry_out(store, Order.of(cell, "", mine))
    assert (reply.state, reply.lacking) == ("lacking", (data.key,))
    assert carry_out(store, Order.of(data, "", mine)).state == "done"
    assert carry_out(store, Order.of(cell, "", mine)).state == "done"


def test_an_order_shows_no_secret_and_holds_those_that_it_needs_alone(node, home):
    data, other = trained(), trained("other", more=1)
    secrets = signing.secrets_of([data.key, other.key])
    order = Order.of(node("cell", needs={"data": data}), "", secrets)
    assert order.secrets == {data.key: secrets[data.key]}
    assert secrets[data.key] not in repr(order)
    assert home.read_bytes().hex() not in repr(secrets)


def test_a_worker_needs_no_key_of_its_own(node, tmp_path, home):
    """As on a machine of a cluster whose home is another one: the key there is not even looked at."""
    store, data = Store(tmp_path / "store"), trained()
    secrets = signing.secrets_of([data.key])
    home.unlink()
    home.mkdir()
    assert carry_out(store, Order.of(data, "", secrets)).state == "done"
    assert carry_out(store, Order.of(data, "", secrets)).state == "found"
    assert carry_out(store, Order.of(node("cell", needs={"data": data}), "", secrets)).state == "done"
