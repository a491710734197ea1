"""docs/tuning.md: what it says of a setting is so."""

from pathlib import Path

import pytest

from evictd.cli import main

PAGE = (Path(__file__).parents[2] / "docs/tuning.md").read_text(encoding="utf-8")


def test_no_setting_excludes_a_pod_from_eviction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page listed ways to protect a pod, and not that an ordinary one cannot be excluded."""
    path = tmp_path / "config.yaml"
    head = "apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ndryRun: true\n"
    path.write_text(f"{head}ranking: {{exclude: [{{namespaces: [payments]}}]}}\n")
    assert main(["check", "--syntax", str(path)]) == 2
    assert "ranking.exclude: unknown field" in "".join(capsys.readouterr())
    assert "There is no `ranking.exclude`" in PAGE
