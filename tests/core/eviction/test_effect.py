"""Law Effect: two evictions that did not help pause further ones."""

from dataclasses import replace

import pytest

from evictd.core.eviction.accounts.ledger import follow_victims
from evictd.core.eviction.laws.effect import (
    CLEAR,
    COMPARED,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    elsewhere_grows,
    follow_clear,
    follow_effects,
    freed_lately,
    has_begun,
    may_go_paused,
    pause_of,
    why_in_vain,
    with_pause,
)
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.holdings import Effect, Pause, SupplyHoldings
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Victim
from evictd.core.units.duration import MINUTE, SECOND
from tests.playbook import pod, threshold
from tests.shortages import holders, level, row, shortage

MEMORY, DISK = Signal.MEMORY_AVAILABLE, Signal.NODEFS_AVAILABLE
NOTHING = Observation(node=None)
PAUSE = Pause(until=FIRST_PAUSE, wait=FIRST_PAUSE)
GROWING = SupplyHoldings(elsewhere=level(0, 300))


def after_retry(pause: Pause, now: int) -> Pause:
    """The pause after one more pod went."""
    return with_pause(State(), MEMORY, pause, now, evicted=True).pauses[MEMORY]


def effect(freed: int, *, at: int = 0, missing: int = 100, grew: bool = False, owner: str = "") -> Effect:
    return Effect(
        uid=f"{at}",
        chosen_at=at,
        held=freed,
        missing=missing,
        freed=freed,
        until=at,
        elsewhere_grew=grew,
        available_before=0,
        owner=owner,
    )


def after(*effects: Effect, supply: Signal = MEMORY, **more: object) -> State:
    return replace(State(effects={supply: effects}), **more)  # type: ignore[arg-type]


def test_two_victims_that_gave_back_too_little_pause_evictions() -> None:
    assert pause_of(after(effect(10)), MEMORY, NOTHING, 1) is None
    assert pause_of(after(effect(10), effect(39, at=1)), MEMORY, NOTHING, 1) == Pause(
        until=1 + FIRST_PAUSE, wait=FIRST_PAUSE
    )
    assert pause_of(after(effect(10), effect(40, at=1)), MEMORY, NOTHING, 1) is None
    assert pause_of(after(effect(10), effect(10, at=1)), MEMORY, NOTHING, COMPARED) is None, "one of them is too old"
    assert pause_of(after(effect(10), effect(10, at=1)), DISK, NOTHING, 1) is None, "another supply"


@pytest.mark.parametrize(
    ("supply", "freed", "paused"), [(MEMORY, 200, True), (DISK, 200, True), (DISK, 249, True), (DISK, 250, False)]
)
def test_growth_elsewhere_pauses_them_although_they_gave_back_enough(supply: Signal, freed: int, paused: bool) -> None:
    """On a disk a victim that gives back a quarter more than was measured of it held bytes that count as growth elsewhere."""
    effects = [replace(effect(freed, at=at, grew=True), held=200) for at in (0, 1)]
    state = after(*effects, supply=supply, holdings={supply: GROWING})
    pause = pause_of(state, supply, NOTHING, 1)
    assert (pause is not None) is paused
    assert pause is None or pause.for_growth


@pytest.mark.parametrize(
    ("available", "after_s", "ends"), [(5, 60, True), (4, 60, False), (None, 60, False), (5, 59, False)]
)
def test_a_pause_for_growth_ends_with_the_growth_where_it_had_room(
    available: int | None, after_s: int, ends: bool
) -> None:
    """A writer that has filled a disk does not grow any more before a victim has given back its bytes; the target is 100."""
    pause = Pause(until=FIRST_PAUSE, wait=FIRST_PAUSE, for_growth=True)
    read, now = {} if available is None else {MEMORY: available}, after_s * SECOND
    ended = after(effect(200, grew=True), pauses={MEMORY: pause})
    assert follow_effects(ended, (), read, now).pauses == ({} if ends else {MEMORY: pause})
    growing = replace(ended, holdings={MEMORY: GROWING})
    assert follow_effects(growing, (), read, now).pauses == {MEMORY: pause}


def test_what_the_successor_of_a_victim_holds_did_not_come_back() -> None:
    holdings = {MEMORY: holders({"new": 80})}
    seen = Observation(node=None, pods=(pod("new", owner="DaemonSet/a"),))
    state = after(effect(60, owner="default/DaemonSet/a"), effect(60, at=1), holdings=holdings)
    assert pause_of(state, MEMORY, seen, 1) is not None
    assert pause_of(state, MEMORY, NOTHING, 1) is None


def test_a_pause_says_why_the_victims_were_of_no_use() -> None:
    """It said '1 is missing and the last two evictions gave back 11Gi; that is too little' of a pod that is created again."""
    pause, grows = Pause(until=1, wait=1), Pause(until=1, wait=1, for_growth=True)
    of_owner = after(effect(60, owner="default/DaemonSet/a"), effect(60, at=1))
    assert why_in_vain(of_owner, MEMORY, pause) == "new pods of their owner hold it again"
    assert why_in_vain(of_owner, MEMORY, grows) == "what grows was not measured in any pod that may go"
    assert why_in_vain(after(effect(10), effect(10)), MEMORY, pause) == "that is too little"
    assert why_in_vain(after(), MEMORY, pause) == "that is too little"
    # No owner has created them, so there are no new pods.
    assert why_in_vain(after(effect(60), effect(60)), MEMORY, pause) == "that was too little when the pause began"


def test_a_pause_that_the_last_victims_call_for_has_not_begun() -> None:
    stop = NoAction(why=NoActionReason.EVICTIONS_DO_NOT_HELP, until=FIRST_PAUSE)
    assert not has_begun(stop, State())
    assert has_begun(stop, State(pauses={MEMORY: Pause(until=FIRST_PAUSE, wait=FIRST_PAUSE)}))
    assert has_begun(NoAction(why=NoActionReason.EVICTION_LIMIT_REACHED, until=FIRST_PAUSE), State())


def test_the_most_that_came_back_within_the_bound_counts() -> None:
    victim = Victim(
        uid="v", cause=DISK, chosen_at=1, missing=100, owed={DISK: 70}, available_before={DISK: 20}, elsewhere_grew=True
    )
    state = follow_effects(State(), [victim], {DISK: 30}, SECOND)
    for now, available in ((2, 60), (3, 40), (12, 900)):
        state = follow_effects(state, (), {DISK: available}, now * SECOND)
    [found] = state.effects[DISK]
    assert (found.freed, found.held, found.missing, found.elsewhere_grew) == (40, 70, 100, True)
    assert freed_lately(state, DISK) == 40
    assert follow_effects(state, (), {}, 1 + COMPARED).effects == {}
    paused = replace(state, pauses={DISK: Pause(until=1, wait=1)})
    assert follow_effects(paused, (), {}, 1 + COMPARED).effects, "a pause compares with them"


def test_what_came_back_before_the_end_was_seen_counts() -> None:
    """A runtime that answered late, and pods that took 1 GiB/s, made two evictions of hogs look as if they had not helped."""
    victim = Victim(
        uid="v", cause=MEMORY, chosen_at=1, until=99 * SECOND, owed={MEMORY: 70}, available_before={MEMORY: 20}
    )
    running = Observation(node=None, pods=(pod("v"),))
    for now, available in ((2, 85), (3, 40), (4, 10)):
        [victim] = follow_victims((victim,), running, {MEMORY: available}, [MEMORY], now * SECOND)
    state = follow_effects(State(), [victim], {MEMORY: 10}, 4 * SECOND)
    assert freed_lately(state, MEMORY) == 65


def test_a_supply_that_was_clear_for_a_minute_ends_the_pause() -> None:
    state = State(pauses={MEMORY: Pause(until=9, wait=9)}, clear_since={MEMORY: 0})
    assert follow_effects(state, (), {}, CLEAR - 1).pauses
    assert not follow_effects(state, (), {}, CLEAR).pauses


@pytest.mark.parametrize(
    ("freed", "at", "for_growth", "ends"),
    [(100, 9, False, True), (99, 9, False, False), (100, 8, False, False), (100, 9, True, False)],
)
def test_a_victim_of_the_pause_that_gave_back_all_ends_it(freed: int, at: int, for_growth: bool, ends: bool) -> None:
    """Else hogs that come one after the other are left to the OOM killer, because the node is never clear for a minute."""
    pause = after_retry(Pause(until=9, wait=9, for_growth=for_growth), 9)
    state = after(effect(0, at=1), effect(freed, at=at), pauses={MEMORY: pause}, holdings={MEMORY: GROWING})
    assert bool(follow_effects(state, (), {MEMORY: 100}, 10).pauses) is not ends


def test_when_a_supply_is_clear() -> None:
    """Not while any threshold of it is met; what was not read stays as it was."""
    memory, soft = threshold("memory.available", "1"), threshold("memory.available", "2", grace="1m")
    both, read = (memory, soft), {MEMORY: None}
    met = State(thresholds_first_observed_at={soft: 0})
    state = follow_clear(met, both, read, Layout.SINGLE, 1)
    assert (state.clear_since, state.once_clear) == ({}, (memory,))
    state = follow_clear(replace(state, thresholds_first_observed_at={}), both, read, Layout.SINGLE, 2)
    assert (state.clear_since, state.once_clear) == ({MEMORY: 2}, both)
    assert follow_clear(state, both, {}, Layout.SINGLE, 3) is state
    assert follow_clear(State(), both, {}, Layout.SINGLE, 3) == State()


def test_the_clear_supplies_are_in_the_order_of_the_signals() -> None:
    """They were in the order of a set of objects, so two runs of one world wrote journals with other bytes."""
    signals = (
        "pid.available",
        "nodefs.inodesFree",
        "nodefs.available",
        "imagefs.available",
        "imagefs.inodesFree",
        "memory.available",
    )
    thresholds = [threshold(each, "1") for each in signals]
    found = follow_clear(State(), thresholds, dict.fromkeys(map(Signal, signals)), Layout.SPLIT, 0).clear_since
    assert list(found) == [each for each in Signal if each in found]
    assert len(found) > 4


@pytest.mark.parametrize(
    ("name", "available", "may"),
    [
        ("leak", 100, True),
        ("large", 100, True),
        ("again", 100, True),
        ("over", 5, True),
        ("over", 6, False),
        ("within", 5, False),
        ("small", 5, False),
    ],
)
def test_who_may_go_while_evictions_are_paused(name: str, available: int, may: bool) -> None:
    """A successor slightly over its request only with less than a twentieth of the target left: it returns at once."""
    held = {"leak": 30, "large": 60, "again": 110, "over": 110, "within": 30, "small": 49}
    grown, requests = {"leak": 40, "within": 40}, {"over": 100, "within": 100}
    rows = {each: row(each, used, request=requests.get(each, 0)) for each, used in held.items()}
    growth = {name: grown.get(name, 0)}
    short = shortage(held, missing=100, available=available, grown=growth, elsewhere=10, recreated=("again", "over"))
    last = [effect(30), effect(10, at=1)] if name not in {"again", "over"} else [effect(60), effect(90, at=1)]
    assert may_go_paused(rows[name], [rows[name]], PAUSE, last, short) == (rows[name] if may else None)


@pytest.mark.parametrize(("used", "elsewhere", "may"), [(110, 40, True), (110, 60, False), (200, 60, True)])
def test_a_pod_slightly_over_its_request_does_not_return_beside_growth_elsewhere(
    used: int, elsewhere: int, may: bool
) -> None:
    """A static pod took what it gave back, and it went again five times a second. Growth that is small is noise."""
    again = row("again", used, request=100)
    short = shortage({"again": used}, missing=100, available=4, elsewhere=elsewhere, recreated=("again",))
    chosen = may_go_paused(again, [again], PAUSE, [effect(90), effect(90, at=1)], short)
    assert chosen == (again if may else None)


@pytest.mark.parametrize(("freed", "available", "may"), [(50, 0, True), (49, 0, False), (0, 11, True)])
def test_a_successor_goes_again_if_the_victim_before_it_gave_back_half_of_what_was_missing_or_some_is_left(
    freed: int, available: int, may: bool
) -> None:
    """It went each time that its owner created it, and a static pod took what it gave back."""
    again = row("again", 150)._replace(pod=pod("again", owner="ReplicaSet/again"))
    victims = [effect(each, at=at, owner="default/ReplicaSet/again") for at, each in enumerate((0, freed))]
    last = [replace(each, held=150) for each in victims]
    short = shortage({"again": 150}, missing=100, available=available, recreated=("again",))
    assert may_go_paused(again, [again], PAUSE, last, short) == (again if may else None)


def test_another_pod_than_the_one_chosen_first_may_go() -> None:
    held = {"small": 10, "large": 500}
    rows = [row(name, used) for name, used in held.items()]
    assert may_go_paused(rows[0], rows, PAUSE, [effect(30), effect(10, at=1)], shortage(held, rate=30)) == rows[1]


@pytest.mark.parametrize(("grown", "elsewhere", "may"), [(40, 100, True), (40, 161, False), (0, 0, False)])
def test_several_pods_that_grow_beyond_their_requests_are_the_leak(grown: int, elsewhere: int, may: bool) -> None:
    """None of four makes half of all growth, together they do; each holds as much as the last victims did."""
    held = dict.fromkeys("abcd", 60)
    rows = [row(name, used) for name, used in held.items()]
    short = shortage(held, missing=100, rate=100, grown=dict.fromkeys(held, grown), elsewhere=elsewhere)
    last = [replace(effect(0), held=60), replace(effect(0, at=1), held=60)]
    assert may_go_paused(rows[0], rows, PAUSE, last, short) == (rows[0] if may else None)
    within = [row(name, used, request=100) for name, used in held.items()]
    assert may_go_paused(within[0], within, PAUSE, last, short) is None


def test_many_small_pods_that_are_the_shortage_go_on() -> None:
    """The last two gave back what they held, and those left hold what is missing; not where something else grows."""
    held = {"a": 40, "b": 40, "c": 40}
    rows, last = [row(name, used) for name, used in held.items()], [effect(20), effect(20, at=1)]
    assert may_go_paused(rows[0], rows, PAUSE, last, shortage(held)) == rows[0]
    assert may_go_paused(rows[0], rows, PAUSE, last, shortage(held, missing=121)) is None
    assert may_go_paused(rows[0], rows, PAUSE, last, shortage(held, elsewhere=90)) is None
    grew = replace(PAUSE, for_growth=True)
    assert may_go_paused(rows[0], rows, grew, last, shortage(held)) is None
    kept = [replace(each, held=100) for each in last]
    assert may_go_paused(rows[0], rows, PAUSE, kept, shortage(held)) is None


def test_a_successor_does_not_go_on_in_the_place_of_pods_whose_end_lasts() -> None:
    """It went every second, since each gave back what it held. One slightly over its request goes before nothing is left."""
    held = {"again": 40, "other": 60}
    rows = [row(name, used, request=100) for name, used in held.items()]
    last = [effect(30), effect(30, at=1)]
    short = shortage(held, missing=50, recreated=("again",))
    assert may_go_paused(rows[0], rows, PAUSE, last, short) == rows[1]
    assert may_go_paused(rows[0], rows[:1], PAUSE, last, short) is None
    exceeding = row("again", 40, request=30)
    assert may_go_paused(exceeding, [exceeding, rows[1]], PAUSE, last, short) == rows[1]
    used_up = shortage(held, missing=50, available=2, recreated=("again",))
    assert may_go_paused(exceeding, [exceeding, rows[1]], PAUSE, last, used_up) == exceeding


def test_a_pod_that_was_there_goes_in_the_place_of_a_successor_that_holds_no_more() -> None:
    """The one that comes before it in the order held more, and stayed: as no successor it was no cause that had come back."""
    rows = [row("small", 30), row("there", 130, request=120), row("again", 50, priority=1)]
    last = [replace(effect(0, at=at), held=80) for at in (0, 1)]
    short = shortage({each.name: each.usage or 0 for each in rows}, missing=50, available=1, recreated=("again",))
    assert may_go_paused(rows[0], rows, PAUSE, last, short) == rows[1]
    larger = [*rows[:2], row("again", 150, priority=1)]
    short = shortage({each.name: each.usage or 0 for each in larger}, missing=50, available=1, recreated=("again",))
    assert may_go_paused(larger[0], larger, PAUSE, last, short) == larger[2]


def test_each_try_waits_twice_as_long_up_to_an_hour() -> None:
    pause, waits = Pause(until=0, wait=FIRST_PAUSE), []
    for _ in range(4):
        pause = after_retry(pause, pause.until)
        waits.append(pause.wait // MINUTE)
    assert waits == [20, 40, 60, 60]
    assert LONGEST_PAUSE == 60 * MINUTE
    assert after_retry(replace(pause, for_growth=True), pause.until).for_growth


def test_growth_elsewhere_that_is_small_beside_the_shortage_is_noise() -> None:
    assert elsewhere_grows(shortage({}, missing=100, elsewhere=50))
    assert not elsewhere_grows(shortage({}, missing=101, elsewhere=50))
    assert not elsewhere_grows(shortage({"a": 90}, missing=100, grown={"a": 25}, elsewhere=50))


@pytest.mark.parametrize(("name", "may"), [("bomb", True), ("like it", True), ("small", False), ("another", False)])
def test_a_successor_that_holds_what_is_short_goes_where_pods_request_nothing(name: str, may: bool) -> None:
    """A fork bomb that its owner recreates: the last two gave back all that they held, and the new one holds it again."""
    held = {"bomb": 900, "like it": 450, "small": 449, "another": 900}
    rows = {each: row(each, used) for each, used in held.items()}
    owned = {each: pod(each, owner="" if each == "another" else "DaemonSet/a") for each in held}
    chosen = rows[name]._replace(pod=owned[name])
    last = [effect(900, at=at, owner="default/DaemonSet/a") for at in (0, 1)]
    short = shortage(held, missing=100, signal="pid.available", rate=100)
    assert may_go_paused(chosen, [chosen], PAUSE, last, short) == (chosen if may else None)


def test_a_leak_of_what_pods_do_not_request_never_waits() -> None:
    held = {"bomb": 900, "web": 10}
    rows = {each: row(each, used) for each, used in held.items()}
    for name in held:
        short = shortage(held, signal="pid.available", grown={name: 50})
        assert short.is_leak(rows[name]) is (name == "bomb")


def test_the_pause_after_one_more_pod_is_noticed_anew() -> None:
    """A second pause of 20 minutes had no event: the journal ended with the eviction before it."""
    reasons = (NoActionReason.NOTHING_HELPS, NoActionReason.EVICTIONS_DO_NOT_HELP)
    noticed = State(noticed={MEMORY: reasons, DISK: reasons})
    assert with_pause(noticed, MEMORY, PAUSE, PAUSE.until, evicted=False).noticed == noticed.noticed
    assert with_pause(noticed, MEMORY, PAUSE, PAUSE.until - 1, evicted=True).noticed == noticed.noticed
    after_one_more = with_pause(noticed, MEMORY, PAUSE, PAUSE.until, evicted=True)
    assert after_one_more.noticed == {MEMORY: reasons[:1], DISK: reasons}
    assert with_pause(State(), MEMORY, PAUSE, PAUSE.until, evicted=True).noticed == {}
