"""Kubernetes JSON to the core's values and back: pure, no file is opened here."""
