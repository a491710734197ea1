"""What `evictd simulate` prints of a world of each kind, word by word: a change of it is a change for users."""

import pytest

from evictd.cli import main
from tests.stories import ROOT, check_golden

KINDS = {
    "memory": "26-control-plain-leak",
    "memory, a culprit that may not go": "15-static-culprit",
    "memory, a budget": "25-budget-of-zero",
    "memory, no threshold": "43-no-memory-threshold",
    "disk": "27-control-volume-writer",
    "disk, images": "29-control-images-of-a-victim",
    "disk, images on their own": "41-images-beside-a-new-pod",
    "inodes": "09-inodes-of-a-volume",
    "PIDs": "20-fork-bomb",
    "swap": "21-swapped-hog",
}


@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS)
def test_the_answer_is_the_same_every_time(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["simulate", str(ROOT / "config" / "incidents" / f"{name}.yaml")]) == 0
    check_golden(f"world.{name}.txt", capsys.readouterr().out)
