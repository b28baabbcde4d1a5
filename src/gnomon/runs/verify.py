"""Does a run agree with itself? Hashes, schema, identities, and every score derived again.

Each check is made on its own, so that one broken file does not hide what else is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import GnomonError, InputError, some
from gnomon.core.measure import by_family
from gnomon.core.rows import LedgerMeasure
from gnomon.inference.scoring import Score, derive
from gnomon.inference.scoring import slices as list_slices
from gnomon.intake.limits import DEFAULT, RUN
from gnomon.runs import auditing, samples, seal
from gnomon.runs.content import file_digest
from gnomon.runs.directory import scores_bytes
from gnomon.runs.run import Run, counted, load, metrics_of, run_id, summary

ROUNDING = 1e-9
"""Scores derived again may differ by this much where numerical libraries differ; the seal covers every byte."""
PREDICTIONS = replace(RUN, max_decoded_bytes=DEFAULT.max_decoded_bytes)
"""Limits of predictions, which are read some rows at a time and may be many."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what was wrong with it (nothing, when empty)."""

    name: str
    problems: tuple[str, ...]
    detail: str = ""
    run: str = ""
    """The directory of the run, where several may have been checked."""

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems


def verify(path: str | Path) -> list[Check]:
    """Check a run directory; every returned check has passed when the run can be trusted."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a run directory: no such folder")
    sealed = seal.problems(folder, bounded=True)
    checks = [Check("seal", tuple(sealed), "every file has the content it was published with")]
    try:
        run = load(folder)
    except GnomonError as error:
        return [*checks, Check("readable", (str(error),))]
    checks.append(Check("readable", (), f"{run.suite} run of {run.system!r}, schema {run.manifest['schema']}"))
    wanted = {**CHECKS, **({"samples": _samples} if "samples" in run.manifest["facts"] else {})}
    return checks + [_guarded(name, check, run) for name, check in wanted.items()]


def _guarded(name: str, check: Callable[[Run], tuple[list[str], str]], run: Run) -> Check:
    try:
        problems, detail = check(run)
    except Exception as error:  # a damaged run may break anything; the check must say so, not fall over
        return Check(name, (f"could not be checked ({type(error).__name__}: {error})",))
    return Check(name, tuple(problems), detail)


def _fingerprints(run: Run) -> tuple[list[str], str]:
    problems = []
    if fingerprint(run.manifest["protocol"]) != run.manifest["protocol_fingerprint"]:
        problems.append("the protocol's record does not have the recorded fingerprint")
    if run_id(run.manifest) != run.manifest["id"]:
        problems.append(f"the run's id should be {run_id(run.manifest)}, but is {run.manifest['id']}")
    return problems, "protocol and run id follow from their content"


def _identities(run: Run) -> tuple[list[str], str]:
    problems = []
    for family, measure in by_family(run.measures).items():
        problems += [f"{family}: {text}" for text in measure.identities(run.tallies[family], run.ledgers)]
    for rows in (measure for measure in run.measures if isinstance(measure, LedgerMeasure)):
        problems += [f"{rows.ledger}: {text}" for text in rows.identities(None, run.ledgers)]
    what = f"tallies of {len(run.roster)} cases are possible counts and agree with the ledgers"
    return list(dict.fromkeys(problems)), what


def _predictions(run: Run) -> tuple[list[str], str]:
    path = Path(run.path or "") / "predictions.parquet"
    if file_digest(path, PREDICTIONS.raised()) == run.manifest["prediction_fingerprint"]:
        return [], "the stored predictions have the recorded fingerprint"
    return ["predictions.parquet does not have the recorded fingerprint"], ""


def _claims(run: Run) -> tuple[list[str], str]:
    facts = run.manifest["facts"]
    wrong = [
        f"fact {name!r} is {facts.get(name)!r}, but the cases say {n}"
        for name, n in counted(run.roster, run.tallies, run.ledgers).items()
        if facts.get(name) != n
    ]
    judged = auditing.judge_claims(run, run.findings)
    if judged != run.verdicts:
        wrong.append("the verdicts on claims do not follow from the facts and the findings")
    return wrong, f"verdicts on {len(judged)} claims follow from the facts and the findings"


def _coverage(run: Run) -> tuple[list[str], str]:
    problems = []
    rows, cells = run.coverage.get("rows"), run.coverage.get("cells")
    skipped = (run.coverage.get("shards") or {}).get("skipped")
    whole = (not rows or rows["scored"] == rows["truth"]) and (not cells or not cells["missing"]) and not skipped
    whole_score = run.find(metrics_of(run)[0].name)  # the first metric of a protocol rests on all rows
    held = whole_score.n if whole_score else 0
    if rows and rows["scored"] != held:
        problems.append(f"coverage says {rows['scored']} rows scored, the tallies hold {held}")
    if (rows or cells) and run.complete != whole:
        problems.append(f"complete is {run.complete}, but the counts say {whole}")
    expected, stored = summary(run.scores[0], run.coverage, run.measures[0]), run.manifest["summary"]
    if stored != {key: value for key, value in expected.items() if key in stored or key != "shown"}:
        problems.append("the summary in the manifest does not follow from scores and coverage")
    return problems, "completeness and summary follow from the counts"


def _samples(run: Run) -> tuple[list[str], str]:
    """Compare the stored samples with their counts; whether the findings follow is for ``gnomon audit``."""
    said = run.manifest["facts"]["samples"]
    found = samples.read(Path(run.path or ""))
    if found is None:
        problem = [] if not said["stored"] else [f"{samples.NAME} is missing"]
        return problem, "there were too many samples to store"
    if samples.counts(found) != said:
        return [f"{samples.NAME} holds {samples.counts(found)['parts']}, but the facts say {said['parts']}"], ""
    return [], f"{len(found)} samples of the split are as many as recorded"


def _headline(run: Run) -> tuple[list[str], str]:
    stored = (Path(run.path or "") / "scores.json").read_bytes()
    if stored == scores_bytes(run.scores, run.measures):
        return [], "scores.json is canonical"
    return ["scores.json is not what its scores give: schema, headline or form were changed"], ""


def _scores(run: Run) -> tuple[list[str], str]:
    slices = run.manifest["protocol"]["slices"]
    own = [measure.name for measure in run.measures if not measure.computable]
    stored = [score for score in run.scores if score.name not in own]
    expected = len(list_slices(run.roster, slices)) * len(run.computable)
    if expected != len(stored):  # before they are derived: each takes its time
        return [f"{len(stored)} scores stored, {expected} follow from the tallies"], ""
    again = derive(run.computable, run.tallies, run.roster, slices, run.plan, run.ledgers)
    pairs = [(new, old) for new, old in zip(again, stored, strict=True) if new != old]
    wrong = [text for new, old in pairs if (text := _difference(new, old))]
    rounding = " (some only to rounding: other numerical libraries)" if pairs else ""
    unchecked = f"; not computed again: {some(own)}, metrics of the user's own" if own else ""
    return wrong, f"all {len(again)} scores follow from the tallies{rounding}{unchecked}"


def _difference(new: Score, old: Score) -> str:
    """Say how two scores differ; nothing when only the last digits of floats do."""
    before, after = old.record(), new.record()
    fields = [name for name in after if not _same(before[name], after[name])]
    shown = ", ".join(f"{name} {before[name]!r} should be {after[name]!r}" for name in fields[:3])
    return f"{new.measure} on {new.slice}: {shown}" if fields else ""


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return a == b


CHECKS: dict[str, Callable[[Run], tuple[list[str], str]]] = {
    "fingerprints": _fingerprints,
    "identities": _identities,
    "predictions": _predictions,
    "coverage": _coverage,
    "claims": _claims,
    "form": _headline,
    "scores": _scores,
}
