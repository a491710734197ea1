"""docs/troubleshooting.md: what it says against a shortage helps against this one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")


def test_requests_are_no_advice_for_inodes_and_pids() -> None:
    """Each kind of eviction led to one list, whose first entry was requests; no pod can request inodes or PIDs."""
    advice = PAGE.partition("**Avoid the next one.**")[2].partition("\n#")[0]
    (requests,) = re.findall(r"^\* \*\*(.*): request what it uses\*\*", advice, re.MULTILINE)
    (others,) = re.findall(r"^\* \*\*(.*)\*\*: requests do not count\.", advice, re.MULTILINE)
    assert (requests, others) == ("Memory, disk space", "Inodes, PIDs")
    tuning = (ROOT / "docs/tuning.md").read_text(encoding="utf-8")
    (row,) = (line for line in tuning.splitlines() if line.startswith("| requests of memory and `ephemeral-storage`"))
    assert "(not inodes, PIDs)" in row
    assert "for inodes and PIDs" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_full_disk_may_lack_inodes() -> None:
    """`df -h` shows free space there, and the page named no other command."""
    section = PAGE.partition("\n## No space left on device")[2].partition("\n## ")[0]
    for command in ("`df -i`", "`evictd status`", "`evictd explain`"):
        assert command in section
