"""Measures performance: `python -m bench SUITE` runs one and adds its figures to build/bench.json."""
