"""The published protocol as data, and the gate before a claim about fine-tuning as a report.

``evaluation_protocol.json`` is written with every run: scope, windows, features, split, tasks with their contracts,
leak controls, claims with what they need. What became of the claims is in ``audit.json`` alone, since errors of the
audit veto them. ``DATA_BLOCKER_REPORT.md`` is written when the gate is closed, with every
condition, what was found and what is needed. Artefacts of fewer than 32 episodes are marked ``smoke``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import some
from gnomon.suites.episode.features.blocks import BLOCKS, DIM
from gnomon.suites.episode.features.windows import LENGTH, STRIDE
from gnomon.suites.episode.options import SPLITS
from gnomon.suites.episode.protocol import CLAIMS, DIFFERENT, GATE, VALID_EPISODES, VERSION
from gnomon.suites.episode.tasks.declared import TASKS, VARIANTS, input_blocks
from gnomon.suites.episode.tasks.splitting import EMBARGO

MOST = 40
"""Episodes that are not valid, of which the report says why."""
PROTOCOL, BLOCKED = "evaluation_protocol.json", "DATA_BLOCKER_REPORT.md"
CONTROLS = (
    "chronological or episode-disjoint splits; windows are never shuffled between the parts",
    "what a sample reads, input and target, ends before the cut less an embargo, or begins at or after it",
    "one cut in time for all tasks",
    "scalers, heads, class lists and vocabularies are fitted on training samples alone",
    "blocks that were derived from the annotation, or made from the whole episode, are no input",
    "quantities in different coordinate frames are not subtracted",
    "invalid frames are masked, and what is left is reported as coverage",
    "trivial baselines and attainable ceilings stand in every table",
)


def declared() -> dict[str, Any]:
    """Return the protocol as plain data: what holds for every run."""
    return {
        "schema": "gnomon.episode.protocol/1",
        "version": VERSION,
        "unit": {"window_frames": LENGTH, "stride_frames": STRIDE},
        "features": {
            "dimensions": DIM,
            "blocks": [{"name": one.name, "dim": one.dim, "kind": one.kind} for one in BLOCKS],
            "audio": {"featurized": False},
        },
        "splits": list(SPLITS),
        "embargo_frames": EMBARGO,
        "tasks": [
            {
                "name": task.name,
                "family": task.family,
                "unit": task.unit,
                "target": task.target,
                "inputs": {variant: list(input_blocks(task, variant)) for variant in VARIANTS},
                "metric": task.metric,
                "direction": task.direction,
                "also": list(task.also),
                "reported": dict(task.published),
                "reported_n": {"train": task.published_n[0], "test": task.published_n[1]},
            }
            for task in TASKS.values()
        ],
        "leak_controls": list(CONTROLS),
        "strict_differs": list(DIFFERENT),
        "claims": [claim.record() for claim in CLAIMS],
        "scale_up_gate": {"valid_episodes": VALID_EPISODES, "needs": [need.text for need in GATE]},
    }


def conditions(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every condition of the gate: what it needs, what was found, and whether it is met."""
    return [
        {"condition": need.text, "needed": need.at_least, "found": facts.get(need.fact, 0), "met": need.met(facts)}
        for need in GATE
    ]


def is_open(facts: Mapping[str, Any]) -> bool:
    """Say whether the quality of a fine-tuned model may be spoken of."""
    return all(item["met"] for item in conditions(facts))


def files(variant: str, split: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files about the protocol that a run has."""
    found = {
        **declared(),
        "run": {
            "variant": variant,
            "split": dict(split),
            "gate": {"open": is_open(facts), "conditions": conditions(facts)},
            "artefacts": facts["artefacts"],
        },
    }
    held = {PROTOCOL: encode_pretty(found)}
    return held if is_open(facts) else {**held, BLOCKED: report(facts).encode()}


def report(facts: Mapping[str, Any]) -> str:
    """Return why the gate is closed."""
    lines = [
        "# Data blocker report",
        "",
        "The gate before a claim about fine-tuning is **closed**: what is below in this folder is no evidence of the "
        "quality of a fine-tuned model.",
        "",
        "| condition | needed | found | met |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {item['condition']} | {item['needed']:g} | {item['found']} | {'yes' if item['met'] else '**no**'} |"
        for item in conditions(facts)
    ]
    not_valid = [f"{name}: {why}" for name, why in facts.get("not_valid", {}).items()]
    if not_valid:
        lines += ["", f"Episodes that are not valid: {some(not_valid, show=MOST, sentences=True)}."]
    lines += ["", f"Artefacts are marked `{facts['artefacts']}`.", ""]
    return "\n".join(lines)
