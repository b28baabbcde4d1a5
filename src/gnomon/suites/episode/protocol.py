"""The protocol of ``episode``: twelve tasks on first-person episodes, as published and strict, and what may be claimed.

A case is an annotated segment (episode / segment): windows overlap by three quarters, so that no window can be
resampled as if it were independent. With several test episodes the episode is what is resampled; with one, its segments
are, and nothing is said about other episodes.

What the published text calls unsupported interpretations, and the gate before a claim about fine-tuning, are claims
here: each is judged by the facts of a run, and says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.core.evidence import Claim, Need
from gnomon.core.protocol import Protocol
from gnomon.runs.variants import HEADLINES
from gnomon.suites.episode.measured import measures

VERSION = "1"
VALID_EPISODES = 32
"""Episodes that a claim about fine-tuning needs."""
DIFFERENT = (
    "strict cuts all tasks at one point in time and purges what reads across it, with an embargo; published cuts the "
    "list of samples of every task at 70 %, so that windows and targets straddle the cut",
    "strict reads no block that was derived from the annotation or made from the whole episode; published reads "
    "caption text in six tasks and the point cloud of the whole episode",
    "strict moves hands to the world frame before the root is subtracted; published subtracts across frames",
    "strict leaves invalid frames out of statistics, fit and score; published takes them as zeros",
    "strict builds class lists and vocabularies from training samples, and drops targets beyond the end of an episode",
)
UNIT = "unit"
COUNTED = {"published": "window", "strict": "group"}
"""What a variant takes for one: the published figures rest on a number of windows, without a word on their overlap."""
GATE = (
    Need("fine_tuned", 1, "a model that was fine-tuned"),
    Need("valid_episodes", VALID_EPISODES, f"at least {VALID_EPISODES} valid episodes, real and with every stream"),
    Need("episodes_apart", 1, "an episode-disjoint split"),
    Need("manifest", 1, "a manifest"),
    Need("training_metadata", 1, "training metadata"),
    Need("progress_logs", 1, "progress logs"),
    Need("metrics", 1, "metrics"),
    Need("predictions", 1, "predictions"),
    Need("run_report", 1, "a run report"),
    Need("held_out_evaluation", 1, "an evaluation on held-out episodes"),
)
"""What has to be there before the quality of a fine-tuned model may be spoken of."""
CLAIMS = (
    Claim(
        "cross-episode",
        "the scores hold for episodes that are not in the data",
        (
            Need("episodes", 2, "at least 2 episodes"),
            Need("episodes_apart", 1, "whole episodes held out (--split episode_disjoint)"),
        ),
    ),
    Claim(
        "pixel-reconstruction",
        "reconstruction of features shows reconstruction of pixels, depth maps, meshes, NeRFs or Gaussians",
        (Need("pixel_targets", 1, "targets that are pixels, depth maps or geometry, not features of them"),),
    ),
    Claim(
        "audio-visual",
        "the scores show what was learned from sound and sight together",
        (Need("audio_features", 1, "features of the audio in the input"),),
    ),
    Claim("fine-tuning", "the scores show the quality of a fine-tuned model", GATE),
    Claim(
        "real-episodes",
        "the scores hold for real recordings",
        (Need("real_episodes", 1, "episodes that were not simulated", if_known=True),),
    ),
)


def protocol(
    variant: str, tasks: Sequence[str], level: str, *, split: Mapping[str, Any], settings: Mapping[str, Any]
) -> Protocol:
    """Return the protocol of a variant over some tasks."""
    return Protocol(
        name="episode",
        version=VERSION,
        measures=measures(tasks),
        group=level,
        tasks=tuple(tasks),
        split=dict(split),
        settings={HEADLINES: len(tasks), UNIT: COUNTED[variant], **settings},
        claims=CLAIMS,
        variant=variant,
    )
