"""docs/getting-started.md: the way back leaves nothing behind, and a trial beside a kubelet shows something."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from evictd.cli import main
from evictd.config.file import load
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from tests.docs.pages import joined

ROOT = Path(__file__).parents[2]
PAGE = joined("getting-started.md")


def test_the_unit_is_removed_after_what_it_left_in_the_cluster() -> None:
    """A purge took the command away that removes the taint of a stop under pressure."""
    (step,) = re.findall(r"\*\*5\. Uninstall\.\*\*.*?(?=\n## )", PAGE, re.DOTALL)
    places = [step.index(f"\n    {each}") for each in ("systemctl disable", "evictd cleanup --node", "apt purge")]
    assert places == sorted(places)
    assert "`systemReserved`" in step


def test_the_trial_beside_a_kubelet_has_thresholds_that_the_kubelet_does_not_meet_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It took the file for a node without one, with the kubelet's own hard thresholds: a quiet trial said nothing."""
    trial = PAGE.partition("**Without installing**")[2].partition("**1. Dry run.**")[0]
    (made,) = re.findall(r"^    (sed .* > beside\.yaml)", trial, re.MULTILINE)
    (run,) = re.findall(r"^    sudo \.venv/bin/evictd run (.*--kubeconfig .*)$", trial, re.MULTILINE)
    assert "--config beside.yaml " in run
    (kubelet := tmp_path / "kubelet.json").write_text(
        json.dumps({"kubeletconfig": {"evictionHard": dict(DEFAULT_EVICTION_HARD)}})
    )
    (beside := tmp_path / "beside.yaml").write_bytes(
        subprocess.check_output(["sh", "-c", made.partition(" >")[0]], cwd=ROOT)
    )
    assert load(beside).evictd.dry_run, "its default evicts"
    found = {}
    for path in (beside, ROOT / "config/evictd.yaml"):
        main(["check", str(path), "--kubelet-config", str(kubelet), "--memory-capacity", "16Gi"])
        found[path.name] = "KubeletActsFirst" in "".join(capsys.readouterr())
    assert found == {"beside.yaml": False, "evictd.yaml": True}
    assert yaml.safe_load(beside.read_text().partition("\n---\n")[0])["evictionHard"]["memory.available"] == "500Mi"


def test_the_symbols_of_the_status_are_explained() -> None:
    """No page said what they mean."""
    (lines,) = re.findall(r"^    evictd status .*\n((?:    # .*\n)+)", PAGE, re.MULTILINE)
    line = " ".join(lines.replace("#", " ").split())
    source = (ROOT / "src/evictd/render/status/view.py").read_text(encoding="utf-8")
    symbols = {each for each in source if not each.isascii() and not each.isalpha()} - {"░"}  # the rest of the bar
    assert {part.split()[0] for part in re.split("[,;] ", line)} == symbols | {"!"}


def test_the_first_trial_has_the_directory_by_which_disks_are_read() -> None:
    """The remedy came two blocks later, and each disk of the first trial had no reading."""
    trial = PAGE.partition("**Without installing**")[2].partition("**On a node with a kubelet**")[0]
    commands = re.findall(r"^    (sudo .*?)(?: +#.*)?$", trial, re.MULTILINE)
    assert commands[0] == f"sudo mkdir -p {load(ROOT / 'config/evictd.yaml').evictd.root_dir}"
    assert " run --config config/evictd.yaml " in commands[1]
