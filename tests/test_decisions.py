"""Every decision is made in the core: what the import contracts cannot say of single names."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "evictd"

DECIDES = {"thresholds_met", "is_met", "rank", "choose_victim", "protected_culprit", "settle_answers", "skipped_pods"}
"""Functions that compare an observation with a threshold, pick a pod, hold a decision back or protect a pod."""
SEES_STEPS = {
    "codec.records.journal",
    "codec.records.journaled",
    "simulation",
    "daemon.housekeeping",
    "daemon.store.recorder",
    "render.replay.replayed",
    "world.loop",
}
"""The loop that makes it, the journal, and what plays journals and scenarios again."""


@cache
def imported(path: Path) -> dict[str, str]:
    """The names that a module imports of the core, with the module that they are of."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("evictd.core")
        for alias in node.names
    }


JUDGES = {"world.oracle", "world.tested"}
"""The observer who knows every byte: it judges afterwards which ends were needed, in the order of the ranking, and when
thresholds were met, also in cycles that tested none."""
SHELL = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] != "core"]


def test_the_shell_decides_nothing() -> None:
    """It calls `synchronize` and `who_is_next`; only the journal, the loop and simulations see a `Step`."""
    for path in SHELL:
        names = imported(path)
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        assert names.keys() & DECIDES == set() or module in JUDGES, module
        assert "Step" not in names or module in SEES_STEPS, module


def test_one_call_decides() -> None:
    """The loop, simulations, explain, incident, why and replay share it; nothing else calls it."""
    callers = {str(path.relative_to(SOURCE)) for path in SHELL if "synchronize" in imported(path)}
    assert callers == {
        "commands/explain.py",
        "commands/decided/incident_decided.py",
        "commands/decided/incident_request.py",
        "commands/decided/last_place.py",
        "daemon/housekeeping.py",
        "commands/replay.py",
        "simulation.py",
        "world/loop.py",
    }
