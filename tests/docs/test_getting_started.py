"""docs/getting-started.md: the way back leaves nothing behind."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/getting-started.md").read_text(encoding="utf-8")


def test_the_unit_is_removed_after_what_it_left_in_the_cluster() -> None:
    """A purge took the command away that removes the taint of a stop under pressure."""
    (step,) = re.findall(r"\*\*5\. Uninstall\.\*\*.*?(?=\n## )", PAGE, re.DOTALL)
    places = [step.index(f"\n    {each}") for each in ("systemctl disable", "evictd cleanup --node", "apt purge")]
    assert places == sorted(places)
    assert "`systemReserved`" in step
