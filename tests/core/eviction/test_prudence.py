"""Law Prudence: a threshold that was never clear lets three pods go in ten minutes; a limit of the node holds for all."""

from dataclasses import replace

from evictd.core.eviction.laws.prudence import MOST, PERIOD, never_clear
from evictd.core.model.config import EvictionLimit, Policy
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.holdings import Effect
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from tests.playbook import Playbook, config, pod, usage
from tests.shortages import shortage

SHORT = shortage({"a": 100}, available=5000)


def after(*chosen_at: int) -> State:
    """Evictions for memory at these times."""
    effects = tuple(Effect(uid=str(at), chosen_at=at, held=1, missing=1, until=at) for at in chosen_at)
    return State(effects={Signal.MEMORY_AVAILABLE: effects})


def test_three_pods_go_in_ten_minutes() -> None:
    assert never_clear(SHORT, after(1, 2), 3) is None
    stop = never_clear(SHORT, after(1, 2, 3), 4)
    assert stop is not None
    assert (stop.why, stop.until) == (NoActionReason.THRESHOLD_NEVER_CLEAR, 1 + PERIOD)
    assert never_clear(SHORT, after(1, 2, 3), 1 + PERIOD) is None
    assert MOST == 3


def test_a_threshold_that_was_clear_once_and_a_node_that_is_short_by_any_measure_have_no_bound() -> None:
    state = after(1, 2, 3)
    assert never_clear(SHORT, replace(state, once_clear=(SHORT.threshold,)), 4) is None
    assert never_clear(shortage({"a": 100}, available=500), state, 4) is None
    assert never_clear(shortage({"a": 100}, available=501), state, 4) is not None


LIMITED = config(
    hard={"memory.available": "1Gi"}, eviction_limit=EvictionLimit(pods=2, per=MINUTE), policy=Policy.STANDARD
)
FOUR = [pod(name, grace=30) for name in "abcd"]
BIG = [usage(each, memory="300Mi") for each in FOUR]


def test_a_limit_holds_for_all_evictions_of_a_node_also_under_a_hard_threshold() -> None:
    book = Playbook(LIMITED, pods=FOUR, usage=BIG)
    book.at("0s", memory="0 of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("1s", memory="300Mi of 4Gi", gone=["a"]).evicts("b")
    book.at("2s", memory="600Mi of 4Gi", gone=["a", "b"]).does_nothing()
    book.stays_silent(NoActionReason.EVICTION_LIMIT_REACHED)
    (stop,) = (each for each in book.findings(NoAction) if each.why is NoActionReason.EVICTION_LIMIT_REACHED)
    assert (stop.detail, str(stop.needed), stop.until) == ("2 pods within 1m0s", "424Mi", 60 * SECOND)
    book.at("59s", memory="600Mi of 4Gi", gone=["a", "b"]).does_nothing()
    book.at("60s", memory="600Mi of 4Gi", gone=["a", "b"]).evicts("c")


def test_an_eviction_that_a_budget_refused_counts_for_no_limit() -> None:
    settings = replace(LIMITED, eviction_limit=EvictionLimit(pods=1, per=MINUTE))
    book = Playbook(settings, pods=FOUR, usage=BIG)
    book.at("0s", memory="0 of 4Gi").conditions("MemoryPressure").evicts("a")
    refusal = EvictionAnswer(uid="a", kind=EvictionAnswerKind.REFUSED, at=SECOND)
    book.at("1s", memory="0 of 4Gi", answers=[refusal]).evicts("b")
    book.at("2s", memory="300Mi of 4Gi", gone=["b"]).does_nothing()
    book.stays_silent(NoActionReason.EVICTION_LIMIT_REACHED)


def test_a_dry_run_counts_no_eviction_and_no_limit_none_either() -> None:
    book = Playbook(LIMITED, pods=FOUR, usage=BIG)
    book.at("0s", memory="0 of 4Gi", dry_run=True).conditions("MemoryPressure").evicts("a")
    for second in ("1s", "2s", "3s"):
        book.at(second, memory="0 of 4Gi", dry_run=True, gone=[]).evicts("a")
    assert book.state.evicted_at == ()
    free = Playbook(config(hard={"memory.available": "1Gi"}), pods=FOUR, usage=BIG)
    free.at("0s", memory="0 of 4Gi").conditions("MemoryPressure").evicts("a")
    assert free.state.evicted_at == ()


def test_a_limit_of_one_pod_is_written_in_the_singular() -> None:
    """`evictionLimit allows no more than 1 pods`."""
    book = Playbook(replace(LIMITED, eviction_limit=EvictionLimit(pods=1, per=MINUTE)), pods=FOUR, usage=BIG)
    book.at("0s", memory="0 of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("1s", memory="300Mi of 4Gi", gone=["a"]).does_nothing()
    (stop,) = (each for each in book.findings(NoAction) if each.why is NoActionReason.EVICTION_LIMIT_REACHED)
    assert stop.detail == "1 pod within 1m0s"
