"""A signal is its name in `Signal` and its row in `SIGNALS`: nothing else has to be told of it.

The test adds one to a copy of the source and finds it in the configuration, the ranking, the messages, the journal, the page and
the documentation.
"""

from pathlib import Path

from tests.copied_source import run_on_copy
from tests.stories import SCENARIOS

NAME = '    PODS_MEMORY_FULL_300 = "pods.memory.full.avg300"\n'


def test_one_row_makes_a_signal(tmp_path: Path) -> None:
    story = (SCENARIOS / "thrashing.yaml").read_text().replace("average: 10s", "average: 300s")
    scenario = tmp_path / "story.yaml"
    scenario.write_text(story.replace("avg10:", "avg300:"))
    lines = ((NAME, '    PODS_MEMORY_SOME_10 = "'),)
    found = run_on_copy(tmp_path, {"core/model/signal.py": lines}, "tests.added_signal", scenario)
    assert "Window of the average: 10s or 60s or 300s." in found["schema"]
    assert "pods.memory.full.avg300>20%" in found["config"]
    assert found["ranking"].startswith("indexer 5510,")
    assert "Stalled: pods.memory.full.avg300 52.6%, threshold 20% for 20s." in found["message"]
    for place in ("sentence", "journal", "page", "docs"):
        assert "pods.memory.full.avg300" in found[place], place
