"""What a fast fill demands, and a proposal of which `evictd check` warns."""

from dataclasses import replace

from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import SignalAdvice
from evictd.codec.records.reading_record import RecordedCycle, SignalLevel
from evictd.core.model.signal import Signal
from evictd.render.advice.fast_fill import fast_lines, little_left_lines
from tests.advice.test_proposal import MEMORY, MI, reading

NODEFS = Signal.NODEFS_AVAILABLE


def advised(
    rate: int, nodes: int, *, signal: Signal = MEMORY, capacity: int = 8192, lead: bool = False
) -> SignalAdvice:
    """The advice for a signal with a threshold of 100Mi, from one eviction on each node."""

    def of(each: RecordedCycle) -> RecordedCycle:
        level = SignalLevel(available=each.levels[MEMORY].available, capacity=capacity * MI, hard=100 * MI)
        chosen = tuple(replace(one, signal=signal) for one in each.chosen)
        return replace(each, levels={signal: level}, chosen=chosen, memory_lead=lead, disk_lead=lead)

    both = [of(reading(0, 99, evict="a", rate=rate * MI)), of(reading(1, 4000, gone="a"))]
    [found] = advise([node_evidence(f"n{each}", both) for each in range(nodes)], 99).signals
    return found


def test_a_fill_that_outruns_an_eviction_has_the_setting_and_its_amount_from_the_first_on() -> None:
    """One eviction gave `not enough evidence` alone, however fast the leak was."""
    (line,) = fast_lines(advised(300, 1))
    assert line == (
        "at 300Mi a second the 100Mi behind the threshold last 333ms, less than the 1.5s that an eviction takes: "
        "`memory.lead: Auto` begins at 450Mi, and so does a threshold of that"
    )
    assert list(fast_lines(advised(20, 1))) == [], "it lasts for an eviction"
    assert list(fast_lines(advised(70, 1))) == [], "105Mi are no earlier begin that a lead is proposed for"
    assert list(fast_lines(advised(300, 1, lead=True))) == []
    assert list(fast_lines(advised(300, 5))) == [], "it is proposed"


def test_a_disk_has_its_own_settings() -> None:
    (line,) = fast_lines(advised(300, 5, signal=NODEFS))
    assert line.endswith(
        "`disk.lead: Auto` begins at 450Mi, and so does a threshold of that; `disk.freeze: Auto` ends the writing meanwhile"
    )
    assert list(fast_lines(advised(300, 5, signal=NODEFS, lead=True))) == []
    assert list(fast_lines(advised(300, 1, signal=Signal.PID_AVAILABLE))) == []


def test_of_a_proposal_that_check_notes_it_is_said_which_to_follow() -> None:
    """A proposal stood beside the 500Mi of `evictd check` without a word on which of them to set."""
    (line,) = little_left_lines(advised(60, 5, capacity=4096))
    assert line == (
        "set 160Mi, which is by what was recorded. `evictd check` then notes LittleMemoryLeft on n0, for load that was not "
        "recorded: follow it only if other pods come to these nodes"
    )
    (line,) = little_left_lines(replace(advised(60, 5, capacity=2048), hard=104 * MI))
    assert line == (
        "set 104Mi, which is by what was recorded. docs/tuning.md begins with 150Mi on a node of this size, for load that was "
        "not recorded: take that if other pods come to these nodes"
    ), "104Mi stood beside the 150Mi of the documentation without a word on which of them to set"
    assert list(little_left_lines(advised(60, 5, capacity=2048))) == []
    assert list(little_left_lines(advised(900, 5))) == []
    assert len(list(little_left_lines(replace(advised(60, 5), hard=104 * MI, soft=176 * MI)))) == 1
    assert list(little_left_lines(replace(advised(60, 5), hard=104 * MI, soft=1024 * MI))) == []
    assert list(little_left_lines(advised(60, 5, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE))) == [], (
        "it ended in a KeyError"
    )
