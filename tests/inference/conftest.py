"""What several references of this folder share."""

import math

import pytest
from scipy.special import expit, logit


def bent(step):
    """Beyond one unit of the open scale, odds and values go on in a straight line."""
    return step if step <= 1 else 1 + math.log(step)


@pytest.fixture
def open_scale():
    """Return the ends of an interval that is symmetric where the range has no end, through scipy's logit."""

    def ends(value, half, low=0.0, high=1.0):
        if math.isinf(high):
            step = bent(half / value)
            return math.exp(math.log(value) - step), math.exp(math.log(value) + step)
        share, wide = (value - low) / (high - low), half / (high - low)
        step = bent(wide / (share * (1 - share)))
        return tuple(float(low + (high - low) * expit(logit(share) + sign * step)) for sign in (-1, 1))

    return ends
