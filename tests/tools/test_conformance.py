"""The report of conformance has the result of each level, and does not call a failure a success."""

from pathlib import Path

import pytest

from evictd.core.model.config import Policy
from tests.tools import conformance

LOG = """\
1 passed in 0.50s
seconds: setup 1
seconds: setup 1 check 20
=========== 9000 passed, 40 skipped in 100.20s (0:01:40) ===========
2500 passed in 30.10s
seconds: setup 1 check 20 test 140
1 failed, 3 passed in 5.00s
seconds: setup 1 check 20 test 140 test-slow 7
"""


def test_each_level_has_its_own_results_and_seconds() -> None:
    found = [(name, result["passed"], result["failed"], seconds) for name, result, seconds in conformance.levels(LOG)]
    assert found == [("setup", 1, 0, 1), ("check", 0, 0, 20), ("test", 11500, 0, 140), ("test-slow", 3, 1, 7)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without parity and incidents, which other tests run, and without git: a copy of the tree has no commit."""
    monkeypatch.setattr(conformance, "commit", lambda: "0" * 40)
    monkeypatch.setattr(conformance, "parity", lambda: (2962, 0))
    monkeypatch.setattr(conformance, "incidents", lambda: (41, {Policy.STANDARD: 20, Policy.KUBELET: 500}, []))


@pytest.mark.usefixtures("quick")
def test_a_level_that_failed_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "REPORT", tmp_path / "report.md")
    (tmp_path / "log").write_text(LOG)
    assert conformance.main([str(tmp_path / "log")]) == 1
    text = (tmp_path / "report.md").read_text()
    assert "| `make test-slow` | 3 | 1 | 0 | 7 |" in text
    assert "2962 the same, 0 different" in text
    assert "| Debian 13 (trixie) |" in text


@pytest.mark.usefixtures("quick")
def test_without_a_log_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "REPORT", tmp_path / "report.md")
    assert conformance.main([]) == 0
    assert "were not run for this report" in (tmp_path / "report.md").read_text()
    assert conformance.main([str(tmp_path / "none")]) == 2


@pytest.mark.usefixtures("quick")
def test_an_incident_that_ends_otherwise_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "incidents", lambda: (1, dict.fromkeys(Policy, 0), ["01-recreated-hog"]))
    text, passed = conformance.report(None)
    assert (passed, "| worlds that end in an unexpected way | 01-recreated-hog |" in text) == (False, True)
