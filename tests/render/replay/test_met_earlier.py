"""Which thresholds of another configuration the readings before a recorded eviction met."""

from dataclasses import replace

from evictd.codec.records.journal import JournalEntry, decode_entry, encode_entry
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.state import State, Step
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.render.replay.met_earlier import met_earlier
from tests.daemon.world import CONFIG, GI, NOW, observe, step

EVICTS = step(GI // 2)
MET = next(each for each in EVICTS.findings if isinstance(each, ThresholdFinding) and each.met and each.threshold.hard)
SIGNAL, LIMIT = MET.threshold.signal.value, MET.limit.value()


def entry(recorded: Step = EVICTS, trend: object = ()) -> JournalEntry:
    """A record with the readings before it."""
    line = encode_entry(
        now=NOW, wall="2026-01-01T00:00:00Z", state=State(), observation=observe(GI), config=CONFIG, step=recorded
    )
    return replace(decode_entry(line), extra={"trend": {SIGNAL: trend}})


def under(limit: int, grace: int = 0) -> Step:
    """The step with this limit, and no other."""
    finding = replace(MET, threshold=replace(MET.threshold, grace_period=grace), limit=of_bytes(limit))
    return replace(EVICTS, findings=(finding,))


TREND = [
    [130.5, LIMIT + 2 * GI],
    [90.0, LIMIT + 1],
    [4.0, LIMIT - 1],
    [0.2, GI // 2],
    ["damaged", 1],
    [1e300, 1],
    [-1.0, 1],
    [True, 1],
    7,
]


def test_the_times_count_from_the_recorded_eviction_which_is_named() -> None:
    """It wrote `at least 17s earlier`, and not than what (world 16 with a hard threshold of 1Gi)."""
    (found,) = met_earlier(entry(trend=TREND), under(LIMIT + GI).findings)
    assert (found.seconds, found.most) == (90.0, 130.5)
    assert found.text("12:00:00").endswith(
        " would have been met at least 1m30s before the eviction of default/hog at 12:00:00"
    )


def test_a_grace_period_that_would_have_ended_before_the_eviction_is_said_to() -> None:
    """`0 would have been decided differently`, beside a soft threshold that would have evicted minutes before."""
    recorded = entry(trend=TREND)
    for grace, ended in ((30, ", and its grace period would have ended 1m40s before"), (131, "")):
        (found,) = met_earlier(recorded, under(LIMIT + 3 * GI, grace * SECOND).findings)
        assert found.seconds == 130.5
        assert found.text("12:00:00").endswith(f" before the eviction of default/hog at 12:00:00{ended}")


def test_a_threshold_that_only_the_reading_of_the_eviction_met_has_the_most_before_it() -> None:
    recorded = entry(trend=[[10.0, LIMIT + 3 * GI]])
    soft = replace(recorded, findings=())
    (found,) = met_earlier(soft, under(LIMIT + GI).findings)
    assert found.seconds == 0
    assert "would have been met at most 10s before the eviction of default/hog" in found.text("12:00:00")
    assert not met_earlier(replace(soft, extra={}), under(LIMIT + GI).findings), "nothing was read before"


def test_a_threshold_that_a_recorded_one_covers_was_not_met_earlier() -> None:
    """A soft threshold of the same limit was said to be met 200ms earlier; played, it acts 20 s later (worlds 22 and 32)."""
    assert not met_earlier(entry(trend=TREND), under(LIMIT).findings)
    assert not met_earlier(entry(trend=TREND), under(LIMIT, 20 * SECOND).findings)
    assert not met_earlier(entry(trend=TREND), under(LIMIT - 1, 20 * SECOND).findings)
    assert met_earlier(entry(trend=TREND), under(LIMIT + 3 * GI, 20 * SECOND).findings)


def test_an_entry_without_an_eviction_that_begins_has_none() -> None:
    """The entry that shortened a grace period counted from the second threshold, long after the eviction."""
    assert not met_earlier(entry(step(4 * GI), TREND), under(LIMIT + GI).findings)
    shortened = entry(trend=TREND)
    decisions = tuple({**each, "shortens": True} for each in shortened.decisions)
    assert not met_earlier(replace(shortened, decisions=decisions), under(LIMIT + GI).findings)


def test_damaged_records_are_left_out() -> None:
    """A reading of 1e300 s before ended in an OverflowError."""
    (found,) = met_earlier(entry(trend=[[1e300, LIMIT + 1], [4.0, LIMIT + 1]]), under(LIMIT + GI).findings)
    assert "at least 4s before" in found.text("12:00:00")
    assert not met_earlier(entry(trend=1), EVICTS.findings)
    without_limit: dict[str, object] = {"kind": "Threshold", "threshold": {"signal": SIGNAL}, "limit": "x"}
    damaged = replace(entry(trend=TREND), findings=(without_limit, {"kind": "Threshold"}))
    assert [each.seconds for each in met_earlier(damaged, under(LIMIT + GI).findings)] == [90.0]


def test_the_readings_before_are_compared_by_the_formula_that_they_were_recorded_by() -> None:
    """The kubelet's soft threshold of the same limit was said to be met 9m38s before; played, it is met at the same time."""
    recorded = entry(trend=[[578.0, LIMIT + GI // 4 - 1], [32.0, LIMIT - 1], [4.0, LIMIT - 2]])
    more, available = GI // 4, MET.available.value() + GI // 4
    by_other = replace(MET, limit=of_bytes(LIMIT + more), available=of_bytes(available))
    assert not met_earlier(recorded, (by_other,)), "it is the recorded one"
    higher = replace(by_other, limit=of_bytes(LIMIT + more + 1 + GI // 4))
    (found,) = met_earlier(recorded, (higher,))
    assert (found.seconds, found.most) == (578.0, None)
    between = replace(by_other, limit=of_bytes(LIMIT + more + GI // 8))
    assert not met_earlier(recorded, (between,)), "the reading before met neither"
