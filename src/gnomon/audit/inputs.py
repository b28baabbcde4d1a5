"""What goes into a system: input blocks by the tag that says whence they come, and what transforms were fitted on."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gnomon.audit.split import Split
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples

WHOLE = "whole-episode"
"""The kind of a block that was made once from a whole recording, before that was split."""
DENIED = {
    "derived-from-annotation": "derived from what is to be predicted",
    "derived-from-label": "derived from what is to be predicted",
    "derived-from-future": "derived from what comes after their samples",
    WHOLE: "made from the whole recording, so that they see the test part",
}
"""Kinds of blocks that no system may read unless a task says so, and what is wrong with each."""
BLOCK = "block:"
"""A tag of this prefix holds, per sample, the kind of the block that it names; empty where the sample lacks it."""
FITTING = Split(("train",), ("val", "test"))
"""Transforms are fitted on training samples alone: what is selected on is held out from them too."""


def blocks_of(samples: Samples) -> dict[str, tuple[str, ...]]:
    """Return the kinds of every input block that samples carry as tags ``block:NAME``; not of those that none has."""
    kinds = {
        name.removeprefix(BLOCK): tuple(sorted(set(column) - {""}))
        for name, column in samples.tags.items()
        if name.startswith(BLOCK)
    }
    return {name: kind for name, kind in kinds.items() if kind}


def input_blocks(
    blocks: Mapping[str, str | Collection[str]] | Samples,
    *,
    denied: Collection[str] = DENIED,
    allowed: Collection[str] | None = None,
    where: str = "input",
) -> tuple[Finding, ...]:
    """Find input blocks of a denied kind, and blocks that are not on the list of those a task allows.

    Needs the kind of every block that is read (``observed``, ``static``, ``derived-from-annotation``, ...), as a
    mapping or as tags ``block:NAME`` of samples; ``allowed`` is the task's declared list of block names, which also
    excuses their kind. Cannot see a tag that is wrong; the checks of :mod:`gnomon.audit.poison` and
    :mod:`gnomon.audit.permuted` may.
    """
    read = blocks_of(blocks) if isinstance(blocks, Samples) else blocks
    kinds = {name: {kind} - {""} if isinstance(kind, str) else set(kind) for name, kind in read.items()}
    if not kinds:
        raise InputError(f"input blocks: none given; name every block with its kind, or tag samples with '{BLOCK}NAME'")
    excused = set(allowed or ())
    findings = _of_kind({name: kind for name, kind in kinds.items() if name not in excused}, len(kinds), denied, where)
    foreign = sorted(kinds.keys() - excused) if allowed is not None else []
    if foreign:
        text = f"{len(foreign)} of {len(kinds)} input blocks are not among the {len(excused)} allowed: {some(foreign)}"
        findings.append(Finding("input-not-allowed", "error", where, text, "read allowed blocks only"))
    untagged = sorted(name for name, kind in kinds.items() if not kind and name not in excused)
    if untagged:
        text = f"{len(untagged)} of {len(kinds)} input blocks have no kind: {some(untagged)}"
        remedy = "say of every block whether it was observed or derived, and from what"
        findings.append(Finding("input-untagged", "warning", where, text, remedy))
    return tuple(findings)


def _of_kind(blocks: Mapping[str, set[str]], total: int, denied: Collection[str], where: str) -> list[Finding]:
    """Find blocks of denied kinds, once for each thing that is wrong with them."""
    reasons: dict[str, set[str]] = {}
    for kind in sorted(denied):
        reasons.setdefault(DENIED.get(kind, "of a kind that the task denies"), set()).add(kind)
    findings = []
    for why, wrong in reasons.items():
        named = [f"{name} ({', '.join(sorted(kind & wrong))})" for name, kind in blocks.items() if kind & wrong]
        if named:
            text = f"{len(named)} of {total} input blocks are {why}: {some(named, sentences=True)}"
            whole = WHOLE in wrong
            found = "whole-recording-input" if whole else "label-derived-input"
            remedy = "make them from the training part alone" if whole else "leave them out of the input of this task"
            findings.append(Finding(found, "error", where, text, remedy))
    return findings


def fit_provenance(
    fitted: Mapping[str, Collection[str]], samples: Samples, split: Split = FITTING
) -> tuple[Finding, ...]:
    """Find scalers, vocabularies and other transforms that were fitted on other than training samples.

    Needs, by the name of what was fitted, the digests of the samples that it was fitted on, as recorded when it was,
    and digests of the samples. A digest that both sides have counts as training (``exact_duplicates`` names it).
    Cannot see a record that is wrong; :func:`~gnomon.audit.poison.refit` and ``poisoned_fit`` do.
    """
    seen, held = split.sides(samples)
    seen_name, held_name = split.names(samples)
    digests = samples.column("digests")
    taught = {digests[row] for row in seen.tolist()} - {""}
    tested = {digests[row] for row in held.tolist()} - {""} - taught
    findings = []
    for name, used in fitted.items():
        if not used:
            raise InputError(f"fit provenance of {name!r} holds no digest: record what it was fitted on")
        leaked, strange = set(used) & tested, set(used) - tested - taught
        if leaked:
            text = (
                f"{name} was fitted on {len(leaked)} of {len(tested)} {held_name} samples "
                f"({len(set(used))} samples in all)"
            )
            remedy = f"fit on {seen_name} only, then apply to {held_name}"
            findings.append(Finding("fitted-on-test", "error", name, text, remedy))
        if strange:
            text = (
                f"{name} was fitted on {len(strange)} of {len(set(used))} samples that are on neither side of the split"
            )
            remedy = "say what they are; fit on training samples, or declare the other data"
            findings.append(Finding("fitted-elsewhere", "warning", name, text, remedy))
    return tuple(findings)
