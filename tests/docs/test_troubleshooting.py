"""docs/troubleshooting.md: what it says against a shortage helps against this one."""

import re
from pathlib import Path

from evictd.commands.explain_alert import runbooks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")


def test_requests_are_no_advice_for_inodes_and_pids() -> None:
    """Each kind of eviction led to one list, whose first entry was requests; no pod can request inodes or PIDs."""
    advice = PAGE.partition("**Avoid the next one.**")[2].partition("\n#")[0]
    (requests,) = re.findall(r"^\* \*\*(.*): request a tenth more than it uses\*\*", advice, re.MULTILINE)
    (others,) = re.findall(r"^\* \*\*(.*)\*\*: requests do not count\.", advice, re.MULTILINE)
    assert (requests, others) == ("Memory, disk space", "Inodes, PIDs")
    tuning = (ROOT / "docs/tuning.md").read_text(encoding="utf-8")
    (row,) = (line for line in tuning.splitlines() if line.startswith("| requests of memory and `ephemeral-storage`"))
    assert "(not inodes, PIDs)" in row
    assert "for inodes and PIDs" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_why_no_pod_is_evicted_is_true_of_each_reason() -> None:
    """`no other pod holds what is short` stood beside `NothingEvictable` too, where protected pods hold it."""
    (row,) = re.findall(r"^\| `NoActivePods`, `NothingEvictable`.*$", PAGE, re.MULTILINE)
    assert row.endswith("or move protected pods: no eviction helps now |")


def test_a_full_disk_may_lack_inodes() -> None:
    """`df -h` shows free space there, and the page named no other command."""
    section = PAGE.partition("\n## No space left on device")[2].partition("\n## ")[0]
    for command in ("`df -i`", "`evictd status`", "`evictd explain`"):
        assert command in section


def test_a_disk_full_of_container_logs_has_the_settings_that_bound_them() -> None:
    """Only the report of an incident and the reference named them."""
    assert re.search(r"^\| .*a disk full of container logs \| \[disks\]", PAGE, re.MULTILINE)
    (text,) = re.findall(r"^\* \*\*Container logs\*\*(.*\n.*)$", PAGE, re.MULTILINE)
    for field in ("containerLogMaxSize", "containerLogMaxFiles"):
        assert f"`{field}`" in text
        assert field in (ROOT / "docs/reference/kubelet.md").read_text(encoding="utf-8")
    assert "`reclaim.rotatedLogs: true`" in text
    assert "| `reclaim.rotatedLogs` |" in (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")


def test_pods_that_are_held_back_have_one_advice() -> None:
    """The page said that nothing is to be done, and the run book of the alert to look at budgets and owners."""
    (row,) = re.findall(r"^\| `HeldBack` \| (.*) \|$", PAGE, re.MULTILINE)
    assert row == "wait; after five minutes act [on the alert](alerts.md#evictdevictioncannothelp)"
    rules = (ROOT / "deploy/chart/evictd/files/alerts.yaml").read_text(encoding="utf-8")
    assert re.search(r"alert: EvictdEvictionCannotHelp\n +expr: .*\|HeldBack\|.*\n +for: 5m\n", rules)
    book = runbooks((ROOT / "docs/alerts.md").read_text(encoding="utf-8"))["EvictdEvictionCannotHelp"]
    assert re.search(r"It ends by itself.*, but under\s+`podTermination: EvictionAPI` a budget holds", book)
