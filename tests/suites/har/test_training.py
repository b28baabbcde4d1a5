"""The training loop: what it keeps, where it ends, and that a killed process ends with the same weights.

Expected numbers of epochs and updates are counted by hand; weights are compared with those of a run that nobody killed.
"""

import json
import math
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from gnomon.core.errors import InputError, IntegrityError, WorkError
from gnomon.engine.begun import doing
from gnomon.suites.har.systems.neural import training

torch = pytest.importorskip("torch", reason="needs the extra models")
pytest.importorskip("safetensors", reason="needs the extra models")


def line(dropout=0.0):
    """A small network whose training draws random numbers where there is dropout."""
    with training.seeded(1, "line"):
        return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(dropout), torch.nn.Linear(8, 1))


X = torch.from_numpy(np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32))
Y = X.sum(dim=1, keepdim=True)


def go(net, epochs=3, size=8, name="line", rate=0.01, **more):
    rows = training.shuffled(len(X), size, 7, "rows")

    def batches(epoch):
        for batch in rows(epoch):
            yield X[batch], Y[batch]

    def loss(batch):
        return (net(batch[0]) - batch[1]).square().mean()

    optimiser = more.pop("optimiser", None) or torch.optim.Adam(net.parameters(), lr=rate)
    return training.learn(
        name, {"net": net}, batches, more.pop("loss", loss), optimiser=optimiser, epochs=epochs, seed=5, **more
    )


def test_losses_fall_and_everything_is_counted():
    net = line()
    curve = go(net, epochs=40)
    assert curve.losses[-1] < curve.losses[0] / 2
    assert (curve.epochs, curve.updates, curve.windows, curve.stopped) == (40, 120, 800, "epochs")
    facts = curve.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["device"] in ("cpu", "cuda", "mps")
    assert facts["seconds"] > 0
    assert curve.best_epoch is None


def test_one_update_is_what_torch_does_by_itself():
    """Against three steps of plain gradient descent written out here."""
    net, other = line(), line()
    go(net, epochs=1, optimiser=torch.optim.SGD(net.parameters(), lr=0.1), clip=0.5)
    for rows in training.shuffled(len(X), 8, 7, "rows")(0):
        loss = (other(X[rows]) - Y[rows]).square().mean()
        slopes = torch.autograd.grad(loss, list(other.parameters()))
        length = math.sqrt(sum(float(slope.square().sum()) for slope in slopes))
        with torch.no_grad():
            for weight, slope in zip(other.parameters(), slopes, strict=True):
                weight -= 0.1 * slope * min(1.0, 0.5 / length)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_the_best_weights_are_restored_and_training_mode_comes_back():
    net, seen, modes = line(), [], []
    scores = iter([0.2, 0.9, 0.9, 0.1])

    def validate():
        assert not net.training
        assert not torch.is_grad_enabled()
        seen.append(training.weights({"net": net}))
        return next(scores)

    def loss(batch):
        modes.append(net.training)
        return (net(batch[0]) - batch[1]).square().mean()

    curve = go(net, epochs=4, validate=validate, loss=loss)
    assert all(modes)
    assert len(modes) == 12
    assert curve.best_epoch == 2  # of equal ones the first
    assert curve.scores == [0.2, 0.9, 0.9, 0.1]
    now = training.weights({"net": net})
    assert all(torch.equal(now[name], value) for name, value in seen[1].items())
    assert training.moved({"net": net}, seen[3]) > 0


@pytest.mark.parametrize(
    ("scores", "more", "epochs", "stopped", "best"),
    [
        ([1, 2, 1, 1, 1, 1], {"patience": 2}, 4, "patience", 2),
        ([3, 2, 4, 4, 4, 4], {"patience": 2, "higher_is_better": False}, 4, "patience", 2),
        ([1, 2, 3, 4, 5, 6], {"patience": 2}, 6, "epochs", 6),
        ([1, 0, 0, 0, 0, 0, 0, 0], {"patience": 2, "least_updates": 13}, 5, "patience", 1),
        ([1] * 8, {"least_updates": 22}, 8, "epochs", 1),
        ([1] * 8, {"patience": 1, "least_updates": 3}, 2, "patience", 1),
    ],
)
def test_where_it_ends(scores, more, epochs, stopped, best):
    """Six epochs of three updates each, unless patience ends them or a floor of updates prolongs them."""
    told = iter(scores)
    curve = go(line(), epochs=6, validate=lambda: next(told), **more)
    assert (curve.epochs, curve.updates, curve.stopped, curve.best_epoch) == (epochs, 3 * epochs, stopped, best)


def test_validations_may_be_some_updates_apart():
    """Epochs of three updates, validated when five were made since the last time, and at the end."""
    told = iter([1, 0, 0, 0])
    curve = go(line(), epochs=7, validate=lambda: next(told), every=5)
    assert (curve.scores, curve.updates, curve.best_epoch) == ([1, 0, 0, 0], 21, 2)
    told = iter([1, 0, 0])
    curve = go(line(), epochs=9, validate=lambda: next(told), every=5, patience=2)
    assert (curve.epochs, curve.stopped) == (6, "patience")


def test_a_scheduler_steps_after_every_update():
    net = line()
    optimiser = torch.optim.SGD(net.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 0.5**step)
    go(net, epochs=2, optimiser=optimiser, scheduler=scheduler)
    assert optimiser.param_groups[0]["lr"] == 0.5**6


def test_the_same_seed_gives_the_same_weights_and_leaves_random_numbers_alone():
    nets = [line(0.5) for _ in range(2)]
    torch.manual_seed(3)
    go(nets[0])
    after = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(1))
    go(nets[1])
    assert training.moved({"net": nets[0]}, training.weights({"net": nets[1]})) == 0
    assert not torch.are_deterministic_algorithms_enabled()


def test_what_goes_astray_is_said():
    net = line()
    with pytest.raises(WorkError, match="the loss is nan at update 1"):
        go(net, loss=lambda batch: (net(batch[0]) * float("nan")).sum())
    with pytest.raises(InputError, match="no batch to learn from"):
        training.learn("x", {"net": net}, lambda epoch: [], lambda batch: batch, optimiser=None, epochs=1, seed=1)


def two_stages(folder, stop=0, how=None):
    """Train in two stages, as a node does; return weights, curves without times, and the updates made here.

    Everything random takes part: batches, dropout, and the order of rows. At update `stop` it is interrupted.
    """
    with training.seeded(1, "line"):
        net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    made = 0

    def stage(name):
        rows = training.shuffled(20, 8, 7, name)
        optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 / (1 + step))

        def batches(epoch):
            for batch in rows(epoch):
                yield X[batch] + torch.rand(len(batch), 1)

        def loss(batch):
            nonlocal made
            made += 1
            if made == stop:
                how()
            return (net(batch) - batch.sum(dim=1, keepdim=True)).square().mean()

        return training.learn(
            name,
            {"net": net},
            batches,
            loss,
            optimiser=optimiser,
            scheduler=scheduler,
            epochs=3,
            seed=5,
            validate=lambda: -float((net(X) - Y).square().mean()),
            patience=2,
        )

    with doing(folder, "key", "node"):
        curves = [stage("first"), stage("second")]
    facts = [{key: value for key, value in curve.facts().items() if "seconds" not in key} for curve in curves]
    return training.weights({"net": net}), facts, made


def interrupt():
    raise KeyboardInterrupt


def equal(one, other):
    return one[1] == other[1] and all(torch.equal(one[0][name], value) for name, value in other[0].items())


@pytest.mark.parametrize("stop", [2, 3, 4, 9, 10, 14, 18])
def test_what_is_interrupted_ends_with_the_same_weights(tmp_path, monkeypatch, stop):
    """Within an epoch, at the beginning of one, in the last of a stage and in the second stage.

    With a checkpoint after every update, only those that were missing are made: 18 in all.
    """
    monkeypatch.setattr(training, "KEEP_S", 0.0)
    monkeypatch.setattr(training, "KEEP_TIMES", 0.0)
    unbroken = two_stages(tmp_path / "unbroken")
    assert unbroken[2] == 18
    with pytest.raises(KeyboardInterrupt):
        two_stages(tmp_path / "store", stop, interrupt)
    resumed = two_stages(tmp_path / "store")
    assert equal(resumed, unbroken)
    assert resumed[2] == 18 - (stop - 1)
    assert not (tmp_path / "store" / "begun" / "key").exists()


def test_what_was_not_kept_is_done_again_to_the_same_end(tmp_path):
    unbroken = two_stages(tmp_path / "unbroken")
    with pytest.raises(KeyboardInterrupt):
        two_stages(tmp_path / "store", 12, interrupt)
    resumed = two_stages(tmp_path / "store")
    assert equal(resumed, unbroken)
    assert resumed[2] == 9  # the first stage had ended


@pytest.mark.kill
def test_a_killed_process_ends_with_the_same_weights(tmp_path):
    """A process of its own is killed by the system in the middle of an epoch; what it left is taken up here."""
    script = f"""
        import importlib.util, os, signal, sys
        from pathlib import Path
        spec = importlib.util.spec_from_file_location("here", {__file__!r})
        here = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(here)
        here.training.KEEP_S = here.training.KEEP_TIMES = 0.0
        here.two_stages(Path(sys.argv[1]), 5, lambda: os.kill(os.getpid(), signal.SIGKILL))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), tmp_path / "store"], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    resumed = two_stages(tmp_path / "store")
    assert resumed[2] == 18 - 4
    assert equal(resumed, two_stages(tmp_path / "unbroken"))


def test_progress_says_epoch_loss_and_time(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("gnomon.engine.begun.QUIET", 0.0)
    with doing(tmp_path, "key", "node"):
        go(line(), epochs=2, name="pre-train")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 6
    assert said[0].startswith("node: pre-train, epoch 1 of 2, loss ")
    assert said[-1].endswith(" left")


def test_weights_are_written_and_read_as_safetensors(tmp_path):
    net = line()
    training.write(tmp_path / "m", training.weights({"net": net}), {"size": 3})
    states, about = training.read(tmp_path / "m")
    assert about == {"size": 3}
    other = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.0), torch.nn.Linear(8, 1))
    training.restore({"net": other}, states)
    assert torch.equal(other(X), net(X))
    assert training.parameters(net) == 3 * 8 + 8 + 8 + 1
    with pytest.raises(IntegrityError, match="do not fit the model"):
        training.restore({"net": torch.nn.Linear(3, 1)}, states)
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(whole[:-5])
    with pytest.raises(IntegrityError, match="not a whole safetensors file"):
        training.read(tmp_path / "m")


def test_held_out_rows_are_apart():
    train, held = training.held_out(50, 0.1, 3, "x")
    assert sorted([*train, *held]) == list(range(50))
    assert len(held) == 5
    assert [len(rows) for rows in training.held_out(1, 0.5, 3, "x")] == [1, 0]
