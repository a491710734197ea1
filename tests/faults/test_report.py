"""docs/reliability.md says what came of the table of faults."""

import json
from pathlib import Path

from tests.faults.bounds import SHARED_WORKERS
from tests.faults.report import NONE, PAGE, RESULTS, page
from tests.faults.table import FAULTS


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text())), "run: make reliability"


def test_the_results_are_those_of_the_table() -> None:
    results = json.loads(RESULTS.read_text())
    assert set(results) == {fault.name for fault in FAULTS}, "run: make reliability"
    for fault in FAULTS:
        stopped, lines = results[fault.name]["stopped"], results[fault.name]["lines"]
        assert sum(stopped.values()) == len(fault.points)
        assert set(stopped) <= fault.victims | ({NONE} if fault.may_spare else set())
        assert {point.value for point in fault.points if point in fault.noticed and fault.finding} <= set(lines)


def test_each_fault_is_named_or_costs_nothing() -> None:
    assert [fault.name for fault in FAULTS if bool(fault.finding) == bool(fault.harmless)] == []


def test_each_bound_of_a_shared_worker_has_a_test_that_exists() -> None:
    for worker, _, _, test in SHARED_WORKERS:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (Path(__file__).parents[2] / file).read_text(), worker
