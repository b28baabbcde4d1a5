"""Generated data has the promised properties and can be scored."""

import gnomon
from gnomon.core.options import build
from gnomon.suites.labels.options import SimulateOptions, TemplateOptions
from gnomon.suites.labels.simulate import simulate, template


def test_same_seed_gives_same_bytes(tmp_path):
    first = simulate(build(SimulateOptions, {"directory": str(tmp_path / "a"), "groups": 4, "rows": 30}))
    again = simulate(build(SimulateOptions, {"directory": str(tmp_path / "b"), "groups": 4, "rows": 30}))
    other = simulate(build(SimulateOptions, {"directory": str(tmp_path / "c"), "groups": 4, "rows": 30, "seed": 1}))
    assert [path.name for path in first] == ["truth.csv", "strong.csv", "weak.csv"]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(first, again, strict=True))
    assert first[0].read_bytes() != other[0].read_bytes()


def test_strong_is_better_than_weak(tmp_path):
    truth, strong, weak = simulate(build(SimulateOptions, {"directory": str(tmp_path)}))
    scores = gnomon.score("labels", truth, [strong, weak]).scores
    assert scores["strong"]["accuracy"] > scores["weak"]["accuracy"] + 0.03


def test_template_is_scorable_in_every_format(tmp_path):
    for suffix in ("csv", "tsv", "parquet", "jsonl", "npz"):
        truth, prediction = template(build(TemplateOptions, {"directory": str(tmp_path), "format": suffix}))
        assert gnomon.score("labels", truth, prediction).scores["predictions"]["accuracy"] == 7 / 9
