"""The advice beside that for signals: lines to keep, and `memory.lead`."""

from dataclasses import replace

from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import advise
from evictd.advice.unfit import Unfit
from evictd.codec.records.reading_record import RecordedCycle, SignalLevel
from evictd.render.advice.advice import advice_document
from evictd.render.advice.settings import other_lines, unfit_text
from tests.advice.test_proposal import MEMORY, MI, copies, reading
from tests.advice.test_reservation import using


def with_soft(each: RecordedCycle, soft: int) -> RecordedCycle:
    level = SignalLevel(available=each.levels[MEMORY].available, capacity=8192 * MI, hard=500 * MI, soft=soft * MI)
    return replace(each, levels={MEMORY: level})


def nodes_of(rate: int, soft: int) -> list[RecordedCycle]:
    return [with_soft(reading(0, 480, evict="a", rate=rate), soft), with_soft(reading(1, 4000, gone="a"), soft)]


def test_a_soft_threshold_that_a_copied_list_would_drop_is_to_be_kept() -> None:
    """A soft threshold of 1Gi was dropped, because of a signal that falls too fast for one none is proposed."""
    for rate, soft, kept in ((300 * MI, 1024, True), (300 * MI, 110, False), (MI, 1024, False)):
        found = advise([node_evidence(f"n{i}", nodes_of(rate, soft)) for i in range(5)], 99)
        assert advice_document(found)["keep"]["evictionSoft"] == (["memory.available"] if kept else []), rate
        assert (
            any("keep your evictionSoft and evictionSoftGracePeriod of" in each for each in other_lines(found)) is kept
        )


def test_a_lead_is_proposed_with_the_eviction_that_it_rests_on() -> None:
    found = advise([node_evidence(f"n{i}", nodes_of(900 * MI, 1024)) for i in range(5)], 99)
    assert any(
        "memory filled at 900Mi a second; with it the eviction begins when" in each for each in other_lines(found)
    )


def test_a_lead_is_said_to_be_untested_on_nodes_without_an_eviction_for_memory() -> None:
    """With a lead that other nodes asked for, a pod of a burst that ended above the threshold was evicted twice."""
    nodes = [node_evidence(f"n{i}", nodes_of(900 * MI, 1024)) for i in range(5)]
    said = ". On calm, without an eviction for memory, it is not tested: how fast memory fills there no record shows"
    for calm in ([], [node_evidence("calm", [reading(0, 4000)])]):
        assert any(each.endswith(said) for each in other_lines(advise([*nodes, *calm], 99))) is bool(calm)


def test_the_grace_period_says_where_it_comes_from() -> None:
    found = advise([node_evidence(f"n{i}", nodes_of(MI, 1024)) for i in range(5)], 99)
    sooner = ": that evicted pods ended sooner says nothing of others"
    for seconds, took, why in (
        (45, 45, "as long as pods took to end after 6 soft evictions"),
        (30, 10, f"the API's default for a pod{sooner}"),
        (30, 0, "the API's default for a pod, because too few soft evictions were recorded"),
        (60, 10, f"the most that a node has{sooner}"),
        (60, 0, "the most that a node has"),
    ):
        grace = replace(found.grace, took=took, ends=6)
        lines = other_lines(replace(found, max_pod_grace_seconds=seconds, grace=grace))
        assert f"evictionMaxPodGracePeriod: {seconds}: {why}" in list(lines)


def test_the_pod_that_a_grace_period_cuts_is_named() -> None:
    nodes = [replace(node_evidence(f"n{i}", nodes_of(MI, 1024)), longest_grace=(120, "default/db")) for i in range(5)]
    [line] = [each for each in other_lines(advise(nodes, 99)) if each.startswith("evictionMaxPodGracePeriod: 30:")]
    assert line.endswith("; it cuts the terminationGracePeriodSeconds of default/db, 120, for a soft threshold")


def test_a_pod_that_was_killed_at_the_end_of_its_grace_period_does_not_say_what_it_needs() -> None:
    """`evictionMaxPodGracePeriod: 35: as long as pods took` was said of pods that were killed after 30 s and need 45 s."""
    killed = "5 of 5 pods evicted for a soft threshold were killed at the end of their grace period, the longest 30s, so how long"
    longer = "they take is not known: a longer evictionMaxPodGracePeriod shows it"
    own_too = "they take is not known: only a longer terminationGracePeriodSeconds of default/a than 30 shows it"
    up_to = f"{longer}, up to 90, the terminationGracePeriodSeconds of default/a"
    for own, now, value, said in (
        (90, 20, "30: the API's default for a pod;", up_to),
        (30, -1, "none proposed:", own_too),
        (None, 60, "none proposed:", longer),
    ):
        soft = [
            replace(each, max_pod_grace=now)
            for each in (reading(0, 846, evict="a", hard=False), reading(31, 1900, gone="a"))
        ]
        given = replace(soft[0], chosen=tuple(replace(each, grace=30, own_grace=own) for each in soft[0].chosen))
        found = advise(copies(node_evidence("n", [given, soft[1]]), 5), 99)
        assert f"evictionMaxPodGracePeriod: {value} {killed} {said}" in list(other_lines(found))


def test_a_reservation_says_what_of_it_is_for_the_threshold() -> None:
    """`2 of 8 pods within their requests` went with a file whose text did not say that the threshold has to be reserved too."""
    for capacity, said in (
        (8192, "256Mi are for the highest threshold of memory.available (without what no process can allocate, "),
        (
            1024,
            "not covered: the highest threshold of memory.available, which pods within their requests can meet: with it 576Mi ",
        ),
    ):
        node = replace(using("n", 300, capacity), readings=1, hard={MEMORY: 256 * MI})
        [line] = [each for each in other_lines(advise([node], 99)) if "for memory: " in each]
        assert said in line


def test_the_threshold_of_the_node_that_decides_is_named() -> None:
    """The reason of 2.5Gi was 1.61Gi and a threshold of 500Mi, of another node than that with a threshold of 1Gi."""
    used = replace(using("used", 700, 8192), hard={MEMORY: 100 * MI})
    high = replace(using("high", 600, 8192), hard={MEMORY: 1024 * MI})
    [line] = [each for each in other_lines(advise([used, high], 99)) if "for memory: " in each]
    assert "the most in use outside pods was 700Mi on used" in line
    assert "; 1Gi are for the highest threshold of memory.available on high, where 600Mi were in use (" in line


def test_a_threshold_that_does_not_fit_a_node_is_named_with_it() -> None:
    always, before = (
        unfit_text(Unfit(node="n", amount=240 * MI, soft=soft), MEMORY, 500 * MI) for soft in (False, True)
    )
    assert always.startswith("no one value fits: 500Mi would be met always on n, where at most 240Mi were available: ")
    assert before.startswith(
        "no one value fits: 500Mi is above the soft threshold of n, which is kept and acts at 240Mi: "
    )
