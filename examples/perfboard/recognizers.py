"""A recogniser in the published style: walking, by how much the acceleration swings."""

from gnomon.compat.perfboard import AbstractRecognizer

WINDOW_S = 2.0
SWING = 1.5
"""Standard deviation of the acceleration's length within a window, in m/s², above which the person walks."""


class DummyWalkingDetector(AbstractRecognizer):
    """Cuts time into windows of two seconds and calls those walking in which the acceleration swings."""

    def __init__(self):
        self.results = []
        self.window = None
        self.lengths = []

    def process(self, recs):
        """Take in records; a window is judged when the first record after it arrives."""
        for record in recs:
            if record["type"] != "accel":
                continue
            window = record["time"] // WINDOW_S
            if window != self.window:
                self._judge()
                self.window, self.lengths = window, []
            self.lengths.append(sum(value * value for value in record["values"]) ** 0.5)

    def detected(self, time_range=None):
        """Return stretches of walking in the order of time, the last window included."""
        self._judge()
        self.lengths = []
        if time_range is None:
            return list(self.results)
        start, end = time_range
        return [result for result in self.results if result["t1"] < end and result["t2"] > start]

    def labels(self):
        """Name what is recognised."""
        return ["walking"]

    def _judge(self):
        if not self.lengths:
            return
        mean = sum(self.lengths) / len(self.lengths)
        spread = (sum((length - mean) ** 2 for length in self.lengths) / len(self.lengths)) ** 0.5
        if spread < SWING:
            return
        start, end = self.window * WINDOW_S, (self.window + 1) * WINDOW_S
        if self.results and self.results[-1]["t2"] == start:
            self.results[-1]["t2"] = end
        else:
            self.results.append({"t1": start, "t2": end, "label": "walking"})
