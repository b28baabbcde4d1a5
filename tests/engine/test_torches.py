"""Torch as models use it: what is said without it, what the environment sets, and what is left as it was.

Streams are compared with those of a generator of torch that is seeded by hand.
"""

import sys

import pytest

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.seeds import generator
from gnomon.engine import torches

WHY = "needs the extra models"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (torches.torch, "a neural model needs torch"),
        (torches.device, "a neural model needs torch"),
        (lambda: torches.library("torch", "the system x"), "the system x needs torch"),
        (lambda: torches.library("safetensors.torch"), "a neural model needs safetensors"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(monkeypatch, asked, said):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.delitem(sys.modules, "safetensors.torch", raising=False)
    with pytest.raises(MissingExtraError, match=rf"^{said}, which is not installed: pip install 'gnomon\[models\]'"):
        asked()


def test_a_library_that_is_broken_is_not_called_missing(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(torches.importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="other"):
        torches.torch()


def test_threads_come_from_the_environment(monkeypatch):
    monkeypatch.setenv(torches.THREADS, " 3 ")
    assert torches.threads() == 3
    monkeypatch.delenv(torches.THREADS)
    assert torches.threads() == 1
    for text in ("0", "two", "-1", "1.5"):
        monkeypatch.setenv(torches.THREADS, text)
        with pytest.raises(InputError, match="GNOMON_THREADS"):
            torches.threads()


def test_torch_is_told_its_threads_whenever_it_is_asked_for(monkeypatch):
    pytest.importorskip("torch", reason=WHY)
    monkeypatch.setenv(torches.THREADS, "2")
    assert torches.torch().get_num_threads() == 2
    monkeypatch.delenv(torches.THREADS)
    assert torches.torch().get_num_threads() == 1


def test_the_device_comes_from_the_environment(monkeypatch):
    torch = pytest.importorskip("torch", reason=WHY)
    monkeypatch.setenv(torches.DEVICE, "cpu")
    assert torches.device() == torch.device("cpu")
    for text in ("xpu:3", "nowhere"):
        monkeypatch.setenv(torches.DEVICE, text)
        with pytest.raises(InputError, match="GNOMON_DEVICE"):
            torches.device()
    monkeypatch.delenv(torches.DEVICE)
    assert torches.device().type in ("cuda", "mps", "cpu")


def test_a_purpose_has_its_own_stream_and_leaves_all_as_it_was(monkeypatch):
    torch = pytest.importorskip("torch", reason=WHY)
    monkeypatch.setenv(torches.DEVICE, "cpu")
    by_hand = torch.Generator().manual_seed(int(generator(7, "a", "b").integers(2**63)))
    state, strict = torch.get_rng_state(), torch.are_deterministic_algorithms_enabled()
    filling = torch.utils.deterministic.fill_uninitialized_memory
    with torches.seeded(7, "a", "b"):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.equal(torch.rand(4), torch.rand(4, generator=by_hand))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.are_deterministic_algorithms_enabled() == strict
    assert torch.utils.deterministic.fill_uninitialized_memory == filling


def test_generators_go_on_from_states_that_they_had(monkeypatch):
    torch = pytest.importorskip("torch", reason=WHY)
    monkeypatch.setenv(torches.DEVICE, "cpu")
    with torches.seeded(1, "here"):
        states = torches.random_states()
        assert list(states) == ["cpu"]
        drawn = torch.rand(3)
        torches.set_random(states)
        assert torch.equal(torch.rand(3), drawn)


@pytest.mark.parametrize(("text", "seconds"), [("", 20), (" 5 ", 5), ("0", 0), ("2.5", 2.5)])
def test_seconds_between_checkpoints(monkeypatch, text, seconds):
    monkeypatch.setenv(torches.CHECKPOINT, text)
    assert torches.checkpoint_seconds() == seconds


@pytest.mark.parametrize("text", ["often", "-1", "nan", "inf"])
def test_seconds_between_checkpoints_that_make_no_sense(monkeypatch, text):
    monkeypatch.setenv(torches.CHECKPOINT, text)
    with pytest.raises(InputError, match=r"GNOMON_CHECKPOINT_S is .*, expected seconds, 0 or more; change or unset"):
        torches.checkpoint_seconds()
