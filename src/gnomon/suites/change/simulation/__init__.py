"""Rooms, furniture, changes and scanners of simulated scenes."""
