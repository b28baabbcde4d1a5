"""Verb ``template``: a small example of truth files and results, to be replaced by one's own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from gnomon.core.canonical import encode_pretty
from gnomon.suites.events import files
from gnomon.suites.events.options import TemplateOptions
from gnomon.suites.events.times import Stretch

TRUTH = {
    "morning": ("anna", [("09:05:00", "09:12:30", "walking"), ("09:20:00", "09:41:00", "visit")]),
    "noon": ("ben", [("12:10:00", "12:16:00", "walking"), ("12:16:00", "12:30:00", "visit")]),
}
"""Subject, and events by time of day."""
RESULTS = {
    "morning": [
        ("09:05:40", "09:08:00", "walking"),
        ("09:09:10", "09:12:50", "walking"),
        ("09:19:00", "09:41:00", "visit"),
    ],
    "noon": [("12:09:30", "12:15:10", "walking"), ("12:17:00", "12:22:00", "walking")],
}
HOURS = {"morning": ("09:00:00", "10:00:00"), "noon": ("12:00:00", "13:00:00")}


def template(options: TemplateOptions) -> list[Path]:
    """Write two truth files and one file of results."""
    folder = Path(options.directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (subject, events) in TRUTH.items():
        case = {
            "description": f"an hour of {subject}'s {name}",
            "device": "phone",
            "subject": {"id": subject},
            "t1": _moment(HOURS[name][0]),
            "t2": _moment(HOURS[name][1]),
            "labels": [{"t1": _moment(a), "t2": _moment(b), "label": label} for a, b, label in events],
        }
        paths.append(folder / f"{name}.json")
        paths[-1].write_bytes(encode_pretty(case))
    results = {name: [_stretch(*item) for item in items] for name, items in RESULTS.items()}
    paths.append(folder / f"results.{options.format}")
    files.write_predictions(paths[-1], results)
    return paths


def _moment(time: str) -> str:
    return f"2012-05-16T{time}-08:00"


def _stretch(start: str, end: str, label: str) -> Stretch[datetime]:
    return Stretch(datetime.fromisoformat(_moment(start)), datetime.fromisoformat(_moment(end)), label)
