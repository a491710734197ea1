"""A journal that is decided again, and where another configuration leaves what was recorded."""
