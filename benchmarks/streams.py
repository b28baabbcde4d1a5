"""What grows: measures that take data part by part, and seeded data for each, in shards on disk.

Some go through a suite, from files to scores with their intervals (:mod:`benchmarks.suited`); the others fold tallies
of cases that are read from array files, without intervals (:mod:`benchmarks.folded`). Retrieval compares every query
with every candidate and grows with the square; ledgers are sorted. Neither is here.
"""

from __future__ import annotations

from benchmarks import folded, suited
from benchmarks.sharding import PART, Stream

STREAMS = {
    "labels-codes": Stream("label", 25_000_000, 2, suited.write_codes, suited.score_labels, most=1_000_000_000),
    "labels-tables": Stream("label", PART, 30, suited.write_tables, suited.score_labels),
    "har-tables": Stream("window", PART, 40, suited.write_windows, suited.score_windows),
    "events-frames": Stream("frame", PART, 2, suited.write_frames, suited.score_frames),
    "change-scans": Stream("point", 1_000_000, 16, suited.write_scans, suited.score_scans),
    "skeleton-files": Stream("joint", 2_400_000, 40, suited.write_skeletons, suited.score_skeletons),
    "episode-files": Stream("joint", 94 * 5_821, 24, suited.write_episodes, suited.score_episodes, least=100_000),
    "points": Stream("point", PART, 2, folded.write_points, folded.score_points),
    "boxes": Stream("box", 50_000, 113, folded.write_boxes, folded.score_boxes),
    "ward": Stream("event", 100_000, 34, folded.write_stretches, folded.score_stretches),
    "spans": Stream("event", 100_000, 34, folded.write_stretches, folded.score_spans),
    "pose": Stream("joint", PART, 24, folded.write_poses, folded.score_poses),
    "forecasts": Stream("position", PART, 24, folded.write_forecasts, folded.score_forecasts),
    "vectors": Stream("number", PART, 8, folded.write_vectors, folded.score_vectors),
    "sets": Stream("set", PART, 26, folded.write_sets, folded.score_sets),
}
