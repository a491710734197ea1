"""docs/alerts.md: its commands do what the run book wants, and nothing beside."""

import re
from pathlib import Path

from evictd.commands.explain_alert import runbooks

DOCS = Path(__file__).parents[2] / "docs"


def book(name: str) -> str:
    return runbooks((DOCS / "alerts.md").read_text(encoding="utf-8"))[name]


def test_no_upgrade_of_the_release_resets_the_node_selector() -> None:
    """Helm resets what a command with `--set` does not name: a run book said `helm upgrade`, after which every node evicted."""
    for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        text = path.read_text(encoding="utf-8")
        present = "helm get values evictd --namespace evictd --output yaml > present.yaml" in text
        kept = ("--reuse-values", "--values my-values.yaml", *(["--values present.yaml"] if present else []))
        for line in re.findall(r"^ +helm upgrade .*$", text, re.MULTILINE):
            assert any(each in line for each in kept), (path.name, line)
    assert "--reuse-values --set evictd.dryRun=false" in book("EvictdDryRunForLong")
    assert "overlay `beside-kubelet`" in book("EvictdDryRunForLong")


def test_after_a_kill_the_record_has_the_reason() -> None:
    """The kill ends the shortage, and with it the reason in `evictd status`, to which the run book led."""
    found = book("EvictdKernelKills")
    assert "`evictd history`" in found
    assert "(`NoAction`)" in found
    assert "`MemoryThresholdNeverMet`" in found
    assert "evictd status" not in found
