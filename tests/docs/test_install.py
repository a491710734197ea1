"""docs/install.md: the steps of an installation beside a kubelet are in one place, and each leads to its commands."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = "install.md#beside-a-kubelet"


def test_the_steps_beside_a_kubelet_are_one_list_to_which_each_beginning_leads() -> None:
    """They were spread over five pages, three of which installed the chart with commands of their own."""
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    steps = re.findall(r"^(\d)\. ", page.partition("\n## Beside a kubelet\n")[2].partition("\n## ")[0], re.MULTILINE)
    assert steps == [str(number) for number in range(1, 7)]
    assert "tuning.md#a-complete-file-without-a-kubelet)" in page, "no page led to it"
    assert f"(docs/{LIST})" in (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("index", "getting-started", "charts", "cluster"):
        assert f"({LIST})" in (ROOT / f"docs/{name}.md").read_text(encoding="utf-8"), name
