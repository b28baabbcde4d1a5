"""The protocol as data, and the gate before a claim about fine-tuning.

Expected values: the conditions of the published text; the committed copy of the protocol.
"""

import json
from pathlib import Path

from gnomon.core.canonical import encode_pretty
from gnomon.suites.episode import gate
from gnomon.suites.episode.protocol import CLAIMS, GATE, VALID_EPISODES
from gnomon.suites.episode.tasks.declared import TASKS

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "data" / gate.PROTOCOL
OPEN = {**{need.fact: 1 for need in GATE}, "valid_episodes": VALID_EPISODES}


def test_the_committed_protocol_is_the_one_that_runs_write():
    assert COMMITTED.read_bytes() == encode_pretty(gate.declared())


def test_the_protocol_lists_twelve_tasks_with_their_inputs_and_the_whole_vector():
    found = gate.declared()
    assert [task["name"] for task in found["tasks"]] == list(TASKS)
    assert sum(block["dim"] for block in found["features"]["blocks"]) == found["features"]["dimensions"] == 8378
    inputs = {task["name"]: task["inputs"] for task in found["tasks"]}
    assert "caption_objects_interaction_text" in inputs["next_action"]["published"]
    assert "caption_objects_interaction_text" not in inputs["next_action"]["strict"]


def test_the_gate_opens_when_every_condition_is_met_and_not_before():
    assert gate.is_open(OPEN)
    for fact in OPEN:
        assert not gate.is_open({**OPEN, fact: OPEN[fact] - 1}), fact
    assert not gate.is_open({})


def test_a_closed_gate_writes_what_was_found_and_what_is_needed():
    facts = {**OPEN, "valid_episodes": 2, "artefacts": "smoke"}
    held = gate.files("strict", {"name": "episode_disjoint"}, facts)
    assert set(held) == {gate.PROTOCOL, gate.BLOCKED}
    assert "| at least 32 valid episodes, real and with every stream | 32 | 2 | **no** |" in held[gate.BLOCKED].decode()
    assert "`smoke`" in held[gate.BLOCKED].decode()
    assert set(gate.files("strict", {}, {**OPEN, "artefacts": "full"})) == {gate.PROTOCOL}


def test_a_run_has_the_protocol_and_its_verdicts_in_one_place(runs):
    run = runs["strict"]["minimal"]
    held = json.loads((run.path / gate.PROTOCOL).read_bytes())
    assert [claim["id"] for claim in held["claims"]] == [claim.id for claim in CLAIMS]
    assert "claims" not in held["run"]
    stored = json.loads((run.path / "audit.json").read_bytes())["claims"]
    assert {verdict["id"]: verdict["supported"] for verdict in stored} == {claim.id: False for claim in CLAIMS}
    assert held["run"]["gate"]["open"] is False
    assert held["run"]["artefacts"] == "smoke"
    assert {name: held[name] for name in gate.declared()} == json.loads(COMMITTED.read_bytes())
    report = (run.path / gate.BLOCKED).read_text()
    assert "| at least 32 valid episodes, real and with every stream | 32 | 0 | **no** |" in report
    assert (runs["strict"]["random"].path / gate.BLOCKED).read_text().count("**no**") == 6  # no training either
