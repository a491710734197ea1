"""Pods that are skipped, and their owners: refusals by budgets, and pods that come back here at once."""
