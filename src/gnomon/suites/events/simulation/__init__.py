"""The physics behind ``gnomon simulate events``: people, how they move, where they are, and what sensors make of it."""
