"""docs/from-the-kubelet.md: it promises no more differences than parity.md has."""

import re
from pathlib import Path

from evictd.core.eviction.accounts.release import POD_CLEANUP_TIMEOUT, RELEASE_TIMEOUT
from evictd.core.units.duration import SECOND

DOCS = Path(__file__).parents[2] / "docs"


def test_policy_standard_differs_at_some_points_of_the_documentation_only() -> None:
    """The page said that it differs at all forty; at many of them it is "the same"."""
    parity = (DOCS / "parity.md").read_text(encoding="utf-8")
    points = re.findall(r"^\| \d+ \| .* \| (.*?) \|$", parity, re.MULTILINE)
    assert len(points) == 40
    assert 10 < sum(each.startswith("The same") for each in points) < 30
    page = " ".join((DOCS / "from-the-kubelet.md").read_text(encoding="utf-8").split())
    assert (
        "differs at some of the [points](parity.md) where the kubelet's code does not follow its documentation" in page
    )


def test_both_pages_say_how_long_bytes_and_volumes_of_a_victim_are_waited_for() -> None:
    """Volumes are waited for longer than other bytes; the pages had one time for both."""
    for name in ("from-the-kubelet.md", "parity.md"):
        (line,) = re.findall(r"^.*evictd waits up to .*$", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert re.findall(r"up to (\d+) s", line) == [
            str(each // SECOND) for each in (RELEASE_TIMEOUT, POD_CLEANUP_TIMEOUT)
        ]
        assert "volumes" in line
