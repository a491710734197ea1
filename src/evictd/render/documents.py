"""What the documents of `--output json` and `yaml` have in common."""

from typing import Any

API_VERSION = "evictd.io/v1alpha1"
TOP_ROWS = 10
"""Rows of a ranking that are shown by default."""

Document = dict[str, Any]
