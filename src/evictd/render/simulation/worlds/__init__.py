"""Shows a world that was played, and what came of it."""
