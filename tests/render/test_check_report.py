"""The outcome of a check as a table that fits a terminal, and as data."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.config.file import parse_documents
from evictd.config.lint_model import Lint, LintFinding
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.quantity import of_bytes, of_count
from evictd.render.check_report import CheckReport, as_data, write_report


def thresholds() -> tuple[Threshold, ...]:
    found, _ = parse_threshold_config(
        ThresholdMaps(
            hard={"memory.available": "1Gi", "imagefs.inodesFree": "5%"},
            soft={"nodefs.available": "12.5%"},
            soft_grace_period={"nodefs.available": "1m30s"},
            minimum_reclaim={"memory.available": "500Mi", "nodefs.available": "1%", "imagefs.inodesFree": "2%"},
        )
    )
    return found


REPORT = CheckReport(
    source=Path("f.yaml"),
    thresholds=thresholds(),
    capacities={Signal.NODEFS_AVAILABLE: of_bytes(80 * 2**30), Signal.MEMORY_AVAILABLE: of_bytes(2**33)},
    available={Signal.MEMORY_AVAILABLE: of_bytes(2**32)},
    warnings=("mind [this]",),
    findings=(LintFinding(lint=Lint.NO_PID_THRESHOLD, signal=Signal.PID_AVAILABLE, message="m", remedy="r"),),
    dry_run=False,
    compared_with="the kubelet of PID 12 (/k.yaml)",
)

TABLE = """\
                                          ON THIS  AVAILABLE
SIGNAL                       KIND  BELOW     NODE        NOW  GRACE  RECLAIM  FROM
memory.available             hard    1Gi      1Gi        4Gi  -      500Mi    set
imagefs.inodesFree           hard     5%        -          -  -      2%       set
nodefs.available             soft  12.5%     10Gi          -  1m30s  819Mi    set
allocatableMemory.available  hard    1Gi      1Gi          -  -      500Mi    derived
warning: mind [this]
warning: pid.available: m; r (NoPIDThreshold)
compared with the kubelet of PID 12 (/k.yaml)
dryRun: false: `evictd run` evicts pods; this check changed nothing
"""


def _table(width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", width)
    write_report(REPORT, "table")
    out = capsys.readouterr().out
    return "\n".join(line.rstrip() for line in out.splitlines()) + "\n"


def test_the_table_has_no_colours_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _table("120", monkeypatch, capsys) == TABLE


def test_the_table_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    narrow = _table("80", monkeypatch, capsys)
    assert max(map(len, narrow.splitlines())) <= 80
    assert [line.split() for line in narrow.splitlines()] == [line.split() for line in TABLE.splitlines()]


def test_an_error_stands_before_the_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    error = LintFinding(lint=Lint.MET_ALREADY, message="e", remedy="r")
    write_report(replace(REPORT, findings=(*REPORT.findings, error), compared_with=None), "table")
    kinds = [
        line.partition(":")[0] for line in capsys.readouterr().out.splitlines() if line.endswith(")") or "mind" in line
    ]
    assert kinds == ["error", "warning", "warning"]


def test_no_thresholds_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    write_report(
        CheckReport(source=None, thresholds=(), capacities={}, available={}, warnings=(), findings=(), dry_run=True),
        "table",
    )
    assert capsys.readouterr().out == "no thresholds\nno findings\ndryRun: true: evictd decides and changes nothing\n"


def test_rows_of_a_given_size_are_told_from_those_of_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Both stood below `ON THIS NODE`."""
    write_report(replace(REPORT, given=frozenset({Signal.NODEFS_AVAILABLE})), "table")
    line = "sizes as given: nodefs.available; all others are unknown warning: "
    assert line in " ".join(capsys.readouterr().out.split())


def test_json_and_yaml_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    write_report(REPORT, "json")
    from_json = json.loads(capsys.readouterr().out)
    write_report(REPORT, "yaml")
    (from_yaml,), problems = parse_documents(capsys.readouterr().out, "F")
    assert problems == []
    assert from_json == from_yaml == as_data(REPORT)


def test_data_has_exact_amounts_and_null_where_nothing_is_known() -> None:
    data = as_data(REPORT)
    rows = data["thresholds"]
    assert isinstance(rows, list)
    assert rows[1]["amount"] is None
    assert rows[2] == {
        "signal": "nodefs.available",
        "kind": "soft",
        "value": "12.5%",
        "amount": 10 * 2**30,
        "available": None,
        "gracePeriod": "1m30s",
        "minimumReclaim": "1%",
        "given": False,
        "origin": "set",
        "setBy": None,
    }


def test_a_threshold_that_is_no_number_has_no_amount() -> None:
    found, _ = parse_threshold_config(ThresholdMaps(hard={"pid.available": "nan%"}))
    report = CheckReport(
        source=None,
        thresholds=found,
        capacities={Signal.PID_AVAILABLE: of_count(5)},
        available={},
        warnings=(),
        findings=(),
        dry_run=False,
    )
    rows = as_data(report)["thresholds"]
    assert isinstance(rows, list)
    assert rows[0]["amount"] is None


def test_a_note_on_a_threshold_is_a_finding_and_one_on_the_machine_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """`no findings` stood below the note that a threshold leaves little time."""
    threshold = LintFinding(lint=Lint.LITTLE_MEMORY_LEFT, signal=Signal.MEMORY_AVAILABLE, message="m", remedy="r")
    machine = replace(threshold, lint=Lint.RUNTIME_MISSING, signal=None)
    for finding, said in ((threshold, False), (machine, True)):
        write_report(replace(REPORT, warnings=(), findings=(finding,)), "table")
        assert ("no findings" in capsys.readouterr().out) is said
