"""A recogniser of one's own for ``events``: something happens while the acceleration is far from that of rest."""


class Shaking:
    """Says ``label`` while the acceleration is further than ``beyond`` from 9.81 m/s^2; pauses of a second end it."""

    def __init__(self, *, label: str = "shaking", beyond: float = 3.0):
        self.label, self.beyond = label, beyond
        self.found = []

    def process(self, recs):
        """Look at some records: time in seconds, type, values."""
        for record in recs:
            now = record["time"]
            size = sum(value * value for value in record["values"]) ** 0.5
            if record["type"] != "accel" or abs(size - 9.81) <= self.beyond:
                continue
            if self.found and now - self.found[-1]["t2"] < 1:
                self.found[-1]["t2"] = now
            else:
                self.found.append({"t1": now, "t2": now + 0.02, "label": self.label})

    def detected(self, time_range=None):
        """Return what was found so far."""
        return self.found

    def labels(self):
        """Return what can be found."""
        return [self.label]

    def reset(self):
        """Forget everything: the next recording begins."""
        self.found = []
