"""Verb ``simulate``: people who walk with an accelerometer, and who go from place to place with a location sensor.

``DIR/walking`` holds one truth file per person with the class ``walking``, recorded at 50 Hz; ``DIR/visits`` one with
the classes ``visit`` and ``path``, a fix about every 30 s. Raw files are in ``raw`` below. Everybody has a body, a way
of walking, a device and a placement of their own, and people live in different time zones; see
:mod:`gnomon.suites.events.simulation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.seeds import generator
from gnomon.suites.events.options import SimulateOptions
from gnomon.suites.events.simulation import days, places, recording
from gnomon.suites.events.simulation.people import CITIES, Person, person

FIRST_DAY = datetime(2024, 5, 13, 8)
"""When the first recordings start, in the time of the city; everybody has another day."""


def simulate(options: SimulateOptions) -> list[Path]:
    """Write recordings and their truth; return the truth files, those of walking first."""
    people = [person(index, options.seed) for index in range(options.subjects)]
    folder = Path(options.directory)
    paths = []
    for who in people:
        parts = days.day(who, 60 * options.minutes, generator(options.seed, "events", "walking", who.id))
        channel = recording.Channel("accel", ("x", "y", "z"), _origin(who))
        what = f"{options.minutes:g} minutes with an accelerometer in or on the {who.placement}"
        length = timedelta(minutes=options.minutes)
        truth = {**_about(who), "description": what, "placement": who.placement}
        paths.append(_write(folder / "walking", options.format, truth, channel, parts, length))
    for who in people:
        parts = places.day(who, 3600 * options.hours, generator(options.seed, "events", "visits", who.id))
        channel = recording.Channel("location", ("latitude", "longitude", "accuracy"), _origin(who))
        what = f"{options.hours:g} hours with a location sensor"
        length = timedelta(hours=options.hours)
        truth = {**_about(who), "description": what, "placement": who.placement}
        paths.append(_write(folder / "visits", options.format, truth, channel, parts, length))
    return paths


def _origin(who: Person) -> datetime:
    zone = timezone(timedelta(hours=CITIES[who.city][3]))
    return (FIRST_DAY + timedelta(days=int(who.id[1:]) - 1)).replace(tzinfo=zone)


def _about(who: Person) -> dict[str, Any]:
    subject = {"id": who.id, "age": who.age, "height": who.height}
    return {"subject": subject, "device": who.device.name, "city": CITIES[who.city][0]}


def _write(
    folder: Path,
    suffix: str,
    truth: dict[str, Any],
    channel: recording.Channel,
    parts: Iterable[days.Part],
    length: timedelta,
) -> Path:
    """Write one recording as a stream, then its truth, which is known by then."""
    name, labels = truth["subject"]["id"], []
    data = f"raw/{name}.{channel.kind}.{suffix}"

    def samples() -> Iterator[recording.Batch]:
        for label, start, end, times, values in parts:
            if label:
                labels.append({"t1": date(start), "t2": date(end), "label": label})
            yield times, values

    def date(seconds: float) -> str:
        return (channel.origin + timedelta(seconds=seconds)).isoformat()

    recording.write(folder / data, channel, samples())
    window = {"t1": channel.origin.isoformat(), "t2": (channel.origin + length).isoformat()}
    path = folder / f"{name}.json"
    path.write_bytes(encode_pretty({**truth, **window, "data_path": data, "labels": labels}))
    return path
