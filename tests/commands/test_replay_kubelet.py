"""A journal of a world, decided again by policy Kubelet."""

import json
from pathlib import Path

import pytest
import yaml

from evictd.cli import main
from evictd.commands.inputs.source import own_config
from evictd.commands.played.world_journal import journal_lines
from evictd.world.file import decode_world
from evictd.world.loop import play
from tests.stories import ROOT

WORLD = ROOT / "config" / "worlds" / "job-beside-a-database.yaml"
LOOKS = (
    "Policy Kubelet decides as a kubelet does, but as soon as a threshold is crossed; a kubelet looks every 10 s only"
)


@pytest.mark.parametrize("watch", [True, False])
def test_readings_closer_than_a_kubelet_s_are_said(
    watch: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the readings of a kubelet the kernel kills the database, at 9.5 s; `0 would have been decided differently`."""
    document = yaml.safe_load(WORLD.read_text()) | {"watch": watch}
    document["pods"][1]["behaviours"][1]["grow"]["rate"] = "200Mi" if watch else "20Mi"
    file = decode_world(document)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"".join(journal_lines(play(file.world, own_config(file)), end=1_767_225_600 * 10**9)))
    assert main(["replay", str(journal), "--policy", "Kubelet"]) == 0
    assert (LOOKS in " ".join(capsys.readouterr().out.split())) is watch
    assert main(["replay", str(journal), "--policy", "Kubelet", "--output", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["differsFromKubelet"]) == watch
    assert main(["replay", str(journal)]) == 0
    assert LOOKS not in " ".join(capsys.readouterr().out.split())
