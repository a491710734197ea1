"""The signals that no threshold covers: that a shortage of them is not recorded."""

from dataclasses import replace

from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import advise
from evictd.codec.records.reading_record import SignalLevel
from evictd.core.model.signal import Signal
from evictd.render.advice.advice import advice_document
from evictd.render.advice.missing_lines import unguarded_lines
from tests.advice.test_proposal import reading

GI = 1 << 30
EMPTY = SignalLevel(available=100 * GI, capacity=100 * GI)
WITHOUT = replace(
    reading(0, 4000),
    uncovered={Signal.NODEFS_AVAILABLE: EMPTY, Signal.PID_AVAILABLE: SignalLevel(available=4000, capacity=4000)},
)


def test_a_signal_without_a_threshold_is_named_although_no_reading_was_close_to_one() -> None:
    """A disk without a threshold was full for minutes, the journal had the reading of the start alone, and nothing was said."""
    advice = advise([node_evidence("n1", [WITHOUT])], 99)
    (line,) = unguarded_lines(advice)
    assert line == (
        "no threshold on n1: nodefs.available, pid.available. A shortage of them is not recorded, so the journal does not show "
        "whether they ran out; to cover them add the lines `nodefs.available: 10%`, `pid.available: 5%` of evictionHard"
    )
    assert advice_document(advice)["withoutThreshold"] == [
        {"signal": "nodefs.available", "hard": "10%", "nodes": ["n1"]},
        {"signal": "pid.available", "hard": "5%", "nodes": ["n1"]},
    ]


def test_signals_of_other_nodes_have_a_line_of_their_own_and_covered_ones_none() -> None:
    disk = replace(WITHOUT, uncovered={Signal.NODEFS_AVAILABLE: EMPTY})
    advice = advise([node_evidence("n1", [WITHOUT]), node_evidence("n2", [disk]), node_evidence("n3", [])], 99)
    assert [line.partition(". ")[0] for line in unguarded_lines(advice)] == [
        "no threshold on n1, n2: nodefs.available",
        "no threshold on n1: pid.available",
    ]
    covered = replace(reading(30, 4000), levels={Signal.NODEFS_AVAILABLE: EMPTY})
    assert not list(unguarded_lines(advise([node_evidence("n", [disk, covered])], 99)))
    full = replace(disk, uncovered={Signal.NODEFS_AVAILABLE: SignalLevel(available=0, capacity=100 * GI)})
    assert not list(unguarded_lines(advise([node_evidence("n", [full])], 99))), "which is said with its evidence"
