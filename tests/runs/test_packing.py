"""What is packed is read back through the file; bytes are compared with each other."""

import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Field, Tallies
from gnomon.runs import packing

ODD = ("", " ", "a/b", "..", "nul\0inside", "ends in nul\0", "ümlaut", "漢字", "🏠", "new\nline", 'quo"te', "\\", "a.b")
LAYOUT = (Field("tp", ("class",)), Field("error", ("class", "side"), "sum", "m"), Field("n"))


def tallies(labels=ODD, cases=2):
    k = len(labels)
    return Tallies(
        LAYOUT,
        {"class": labels, "side": ("left", "right")},
        {
            "tp": np.arange(cases * k).reshape(cases, k),
            "error": np.linspace(-1, 1, cases * k * 2).reshape(cases, k, 2),
            "n": np.arange(cases),
        },
    )


def ledger(labels=ODD):
    codes = np.arange(-1, len(labels))
    return Ledger(np.arange(len(codes)), {"label": codes, "score": codes / 7}, {"label": labels})


def through_file(path, arrays):
    packing.write_npz(path, arrays)
    return packing.read_packed(path)


def test_tallies_survive_with_any_labels(tmp_path):
    given = {"classification": tallies(), "pose": tallies(("x",), 5)}
    assert packing.unpack_tallies(through_file(tmp_path / "t.npz", packing.pack_tallies(given))) == given


def test_ledgers_survive_with_any_labels(tmp_path):
    given = {"confusion": ledger(), "ranks": Ledger([0, 3], {"rank": [1, 2]})}
    assert packing.unpack_ledgers(through_file(tmp_path / "l.npz", packing.pack_ledgers(given))) == given


@settings(max_examples=50)
@given(labels=st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True, max_size=5))
def test_any_text_is_a_label(labels):
    given = {"f": tallies(tuple(labels))}
    assert packing.unpack_tallies(packing.pack_tallies(given)) == given


@pytest.mark.parametrize("cases", [0, 1, 300])
def test_tallies_of_any_number_of_cases_survive(tmp_path, cases):
    given = {"f": tallies(("a", "b"), cases)}
    assert packing.unpack_tallies(through_file(tmp_path / "t.npz", packing.pack_tallies(given))) == given


@pytest.mark.parametrize("largest", [0, 255, 256, 65_535, 65_536, 2**31 - 1, 2**32 - 1, 2**32, 2**63 - 1])
def test_counts_survive_at_every_size(tmp_path, largest):
    given = {"f": Tallies((Field("n"),), {}, {"n": np.array([0, largest])})}
    read = packing.unpack_tallies(through_file(tmp_path / "t.npz", packing.pack_tallies(given)))
    assert read["f"].fields["n"].tolist() == [0, largest]


@pytest.mark.parametrize("column", [[-1, 254], [-128, 127], [-129, 0], [-(2**31), 2**31 - 1], [-(2**63), 2**63 - 1]])
def test_signed_columns_survive_at_every_size(tmp_path, column):
    given = {"f": Ledger([0, 0], {"x": np.array(column)})}
    read = packing.unpack_ledgers(through_file(tmp_path / "l.npz", packing.pack_ledgers(given)))["f"]
    assert read.columns["x"].tolist() == column


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e16 + 2])
def test_floats_survive_bit_by_bit(tmp_path, value):
    given = {"f": Tallies((Field("s", (), "sum"),), {}, {"s": np.array([value])})}
    read = packing.unpack_tallies(through_file(tmp_path / "t.npz", packing.pack_tallies(given)))
    assert read["f"].fields["s"].tobytes() == np.array([value]).tobytes()


def test_small_counts_take_little_room():
    packed = packing.pack_tallies({"f": tallies(("a", "b"))})
    assert packed["f.tp"].dtype == np.uint8
    assert packed["f.error"].dtype == np.float64


def test_equal_content_gives_equal_bytes(tmp_path):
    packing.write_npz(tmp_path / "1.npz", packing.pack_tallies({"b": tallies(), "a": tallies(("x",))}))
    packing.write_npz(tmp_path / "2.npz", packing.pack_tallies({"a": tallies(("x",)), "b": tallies()}))
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_the_layout_in_memory_does_not_change_the_bytes(tmp_path):
    array = np.arange(6).reshape(2, 3)
    packing.write_npz(tmp_path / "c.npz", {"a": array})
    packing.write_npz(tmp_path / "f.npz", {"a": np.asfortranarray(array)})
    assert (tmp_path / "c.npz").read_bytes() == (tmp_path / "f.npz").read_bytes()


def test_other_content_gives_other_bytes(tmp_path):
    packing.write_npz(tmp_path / "1.npz", packing.pack_tallies({"f": tallies(("a", "b"))}))
    packing.write_npz(tmp_path / "2.npz", packing.pack_tallies({"f": tallies(("a", "c"))}))
    assert (tmp_path / "1.npz").read_bytes() != (tmp_path / "2.npz").read_bytes()


def test_the_file_is_a_plain_npz_without_time_stamps(tmp_path):
    path = tmp_path / "t.npz"
    packing.write_npz(path, {"b": np.array([1]), "a": np.array([2.5])})
    with np.load(path, allow_pickle=False) as archive:
        assert archive["a"].tolist() == [2.5]
    with zipfile.ZipFile(path) as archive:
        assert [info.filename for info in archive.infolist()] == ["a.npy", "b.npy"]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_what_is_read_is_frozen(tmp_path):
    read = packing.unpack_tallies(through_file(tmp_path / "t.npz", packing.pack_tallies({"f": tallies()})))
    with pytest.raises(ValueError, match="read-only"):
        read["f"].fields["n"][0] = 1


def test_an_array_without_a_family_is_refused():
    with pytest.raises(IntegrityError, match="unexpected array 'loose'"):
        packing.unpack_tallies({"loose": np.zeros(1)})


def test_a_family_without_its_description_is_refused():
    with pytest.raises(IntegrityError, match=r"family 'f' .* has no meta array"):
        packing.unpack_ledgers({"f.case": np.zeros(1, int)})


BAD_NAMES = ["meta", "", "a.b", "a b", "1st", "a/b", "a-b", "\0"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_family_is_named_in_letters_and_digits(name):
    for pack in (
        lambda: packing.pack_tallies({name: tallies(("a",))}),
        lambda: packing.pack_ledgers({name: ledger(("a",))}),
    ):
        with pytest.raises(GnomonError, match="cannot name a stored family, field or column"):
            pack()


@pytest.mark.parametrize("name", BAD_NAMES)
def test_fields_and_columns_are_named_in_letters_and_digits(name):
    with pytest.raises(GnomonError, match="cannot name a stored family, field or column"):
        packing.pack_tallies({"f": Tallies((Field(name),), {}, {name: np.array([1])})})
    with pytest.raises(GnomonError, match="cannot name a stored family, field or column"):
        packing.pack_ledgers({"f": Ledger([0], {name: [1]})})


@pytest.mark.parametrize("name", ["case", "column", "labels", "layout", "größe", "_x1"])
def test_any_other_name_survives(tmp_path, name):
    counts = {name: Tallies((Field(name),), {}, {name: np.array([1])})}
    rows = {name: Ledger([3], {name: [1], "other": [2]}, {name: ("a", "b")})}
    assert packing.unpack_tallies(through_file(tmp_path / "t.npz", packing.pack_tallies(counts))) == counts
    assert packing.unpack_ledgers(through_file(tmp_path / "l.npz", packing.pack_ledgers(rows))) == rows


@pytest.mark.parametrize("unpack", [packing.unpack_tallies, packing.unpack_ledgers])
@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (b"", "is damaged"),
        (b"{", "is damaged"),
        (b"\xff\xfe", "is damaged"),
        (b"[" * 100_000, "is damaged"),
        (b"[]", "is not an object"),
        (b"null", "is not an object"),
        (b'"text"', "is not an object"),
    ],
)
def test_a_damaged_description_is_refused(unpack, meta, message):
    arrays = {"f.meta": np.frombuffer(meta, np.uint8), "f.case": np.zeros(1, int), "f.n": np.zeros(1, int)}
    with pytest.raises(IntegrityError, match=f"the description of 'f' in a run's npz {message}"):
        unpack(arrays)


def test_tallies_that_do_not_fit_their_description_are_refused():
    packed = packing.pack_tallies({"f": tallies(("a", "b"))})
    with pytest.raises(GnomonError, match="field 'tp'"):
        packing.unpack_tallies({**packed, "f.tp": np.zeros((2, 5), int)})
    with pytest.raises(GnomonError, match="lacks the field 'n'"):
        packing.unpack_tallies({name: array for name, array in packed.items() if name != "f.n"})


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    packing.write_npz(path, packing.pack_tallies({"f": tallies()}))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"t\.npz"):
        packing.read_packed(path)
