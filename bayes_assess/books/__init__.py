"""Books of sessions: what has become of every item, rank, draw and round, and who told which label."""
