"""What would evict a pod that no event of a journal concerns."""

import json
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.codec.times import parse_time
from evictd.commands.decided.last_place import LastPlace, last_place
from evictd.config.file import STANDARD_INPUT
from evictd.core.units.duration import HOUR
from tests.stories import ROOT


def played(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The journal of a recorded incident."""
    assert main(["simulate", str(ROOT / "config/incidents" / f"{name}.yaml"), "--journal", str(folder / name)]) == 0
    capsys.readouterr()
    return folder / name / "journal.jsonl"


def test_a_pod_that_no_event_concerns_has_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`why` answered with exit status 1, and not what would evict the pod, as README promises."""
    journal = played("34-control-burst-within-grace", tmp_path, capsys)
    assert main(["why", "default/web-1", "--journal", str(journal)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "it was at place 3 of 9 for memory.available (is equal to default/web-2, so the name decides)" in said
    assert (
        "to be evicted then: memory.available would have had to fall by 1.21Gi to its hard threshold 200Mi or" in said
    )
    assert "memory.available would have had to stay below its soft threshold 1.4Gi until 20" in said
    assert ", when its grace period ends; besides, default/batch, default/web-0 would have had to go first" in said
    assert said.endswith("only the journal was read (--address HOST:PORT asks a daemon too)")
    assert main(["why", "default/web-1", "--journal", str(journal), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["known"]
    assert main(["why", "default/absent", "--journal", str(journal)]) == 1


def test_a_place_has_the_date_and_the_age_of_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`04:00:20, it is at place 6 of 8` was said eight minutes later, and eleven days later."""
    journal = played("34-control-burst-within-grace", tmp_path, capsys)
    wall = parse_time(at := json.loads(journal.read_text().splitlines()[-1])["wall"])
    place, _ = last_place([journal], "default/web-1", wall + 11 * 24 * HOUR).lines
    last = f"by the journal's last record of it, {at}"
    assert place.startswith(f"{last}, 11 days ago (growth since then is not recorded), it was at place 3 of 9 for ")
    assert last_place([journal], "default/web-1", wall).lines[0].startswith(f"{last}, it was at place 3 of 9 for ")


def test_the_next_pod_has_its_place_while_a_grace_period_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only its neighbours had a place: of the pod that grew no more than that was said."""
    journal = played("34-control-burst-within-grace", tmp_path, capsys)
    assert main(["why", "default/batch", "--journal", str(journal)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "it was at place 1 of 9 for memory.available, and the next to go (" in said
    assert said.count("Z, when its grace period ends only the journal was read") == 1
    assert main(["why", "default/batch", "--journal", str(journal), "--output", "json"]) == 0
    (place, *_) = json.loads(capsys.readouterr().out)["places"]
    assert (place["place"], place["next"]) == (1, True)


def test_a_protected_pod_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = played("15-static-culprit", tmp_path, capsys)
    (line,) = last_place([journal], "default/static", 0).lines
    assert line.startswith("by the journal's last record of it, ")
    assert line.endswith(" it is never evicted (static pod)")
    place, needed = last_place([journal], "default/web-3", 0).lines
    assert "it was at place 4 of 8 for memory.available (" in place
    assert needed.endswith(
        "; besides, default/web-0, default/web-1, default/web-2 would have had to go first, or be skipped"
    )


def test_the_place_of_a_pod_that_left_is_past(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pods were said to have to go before one that was no longer on the node; it `is 3Gi within its request`."""
    lines = played("34-control-burst-within-grace", tmp_path, capsys).read_text().splitlines()
    record = json.loads(lines[-1])
    record.pop("crc32")
    record["wall"] = "2026-01-01T09:00:00Z"
    record["observation"]["pods"] = []
    journal = tmp_path / "left.jsonl"
    journal.write_text("\n".join([*lines, json.dumps(record)]) + "\n")
    left, place = last_place([journal], "default/web-1", 0).lines
    assert left == "not on the node by 2026-01-01T09:00:00Z; it left without an eviction"
    assert place.endswith(" it was at place 3 of 9 for memory.available")


def test_nothing_is_said_where_no_record_has_the_pod(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"{}\n")
    assert last_place([journal], "a/b", 0) == LastPlace()
    assert last_place([STANDARD_INPUT], "a/b", 0) == LastPlace()
