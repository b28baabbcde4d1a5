"""Recognisers that come with the suite: examples of the interface, and rivals that every table should contain.

They are streams: what they remember does not grow with a recording, but for their results, and chunks never change what
they find. Times are seconds, in records as in results. Two do not look at all, and belong into every table: what is
not better than ``never`` and ``always`` has recognised nothing.
"""
