"""From tallies to evidence: intervals, paired comparisons, scores with what defends them.

Everything here works on one row of tallies per *group*, the smallest thing that may be resampled.
Rows are never scores: a ratio is scored from summed tallies, in every replicate.
"""
