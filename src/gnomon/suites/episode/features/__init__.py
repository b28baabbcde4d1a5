"""Features of an episode: 8,378 numbers for every window of 20 frames, block by block, with their coverage."""
