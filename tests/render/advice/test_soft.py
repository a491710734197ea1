"""The sentence on a soft threshold that is proposed."""

from dataclasses import replace

from evictd.advice.evidence import NodeEvidence, node_evidence
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import LEAST_EVICTIONS, SignalAdvice
from evictd.codec.records.ranked_row import Overtaken
from evictd.core.model.signal import Signal
from evictd.render.advice.soft import hard_lines, soft_lines
from tests.advice.test_proposal import MEMORY, MI, copies, reading, with_capacity


def advised(unallocatable: int) -> SignalAdvice:
    readings = [reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a")]
    node = node_evidence("n", [replace(each, unallocatable=unallocatable * MI) for each in readings])
    [memory] = advise(copies(node, LEAST_EVICTIONS), 99).signals
    return memory


def test_what_processes_cannot_allocate_is_a_part_of_the_soft_threshold() -> None:
    """`soft 384Mi: at 2.13Mi a second, 30s and evictionMaxPodGracePeriod pass` gave 232Mi: 150Mi were left out."""
    [line] = soft_lines(advised(300))
    assert line.endswith("before the hard threshold is met; it counts up to 300Mi that processes cannot allocate")
    [line] = soft_lines(replace(advised(300), unallocatable=0))
    assert line.endswith("1Mi a second, 30s and evictionMaxPodGracePeriod pass before the hard threshold is met")


def test_the_nodes_on_which_alone_it_falls_too_fast_are_named() -> None:
    """One fast node took the soft threshold from all nodes, and no line said which."""
    slow = node_evidence("slow", [reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a")])
    fast = node_evidence("fast", [reading(0, 480, evict="a", rate=100 * MI), reading(1, 4000, gone="a")])
    both = [*copies(slow, LEAST_EVICTIONS), fast]
    [memory] = advise(both, 99).signals
    [line] = soft_lines(memory)
    assert line.endswith("it falls too fast, by 100Mi a second, only on fast: advise it apart from the other nodes")
    [memory] = advise([*both, replace(fast, node="second")], 99).signals
    assert next(soft_lines(memory)).endswith("only on fast, second: advise them apart from the other nodes")
    [memory] = advise(copies(fast, LEAST_EVICTIONS), 99).signals
    assert next(soft_lines(memory)).endswith("it falls too fast, by 100Mi a second"), "on all of them"


def test_the_node_on_which_the_hard_one_acts_first_is_named() -> None:
    """576Mi beside 500Mi were proposed to a node of 2 GiB, on which the hard one acts first (`SoftAfterHard`)."""
    readings = [
        with_capacity(each, 65536) for each in (reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a"))
    ]
    small = NodeEvidence(node="small", capacity={MEMORY: 2048 * MI})
    [memory] = advise([*copies(node_evidence("n", readings), LEAST_EVICTIONS), small], 99).signals
    [line] = soft_lines(memory)
    assert (
        line
        == "no soft threshold: the hard one acts first on small, where up to 669Mi are left by the count of a soft one"
    )


def test_the_wait_until_pods_are_measured_is_named_for_a_disk() -> None:
    [line] = soft_lines(replace(advised(0), signal=Signal.NODEFS_AVAILABLE, unallocatable=0))
    assert "30s, up to 10s until pods are measured, and evictionMaxPodGracePeriod pass" in line


def test_a_threshold_that_evicts_another_pod_is_said() -> None:
    """`soft 320Mi` was proposed, and evicted a pod that did not grow in place of the leak."""
    readings = [reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a")]
    overtaken = tuple(replace(each, overtaken=Overtaken(MI, "default/web")) for each in readings[0].chosen)
    node = node_evidence("n", [replace(readings[0], chosen=overtaken), readings[1]])
    [memory] = advise(copies(node, LEAST_EVICTIONS), 99).signals
    assert list(hard_lines(memory)) == [], "it acts later than the recorded one"
    higher = replace(memory, hard=490 * MI, other_first=memory.worst, soft=None)
    [line] = hard_lines(higher)
    assert line == (
        "490Mi would have evicted default/web in place of default/a on n at at 0, if default/a is the pod that grew: it acts "
        "earlier, when that used less"
    )
    [line] = soft_lines(replace(higher, soft_other_first=(600 * MI, memory.worst)))
    assert line.startswith("no soft threshold: 600Mi would have evicted default/web in place of default/a on n")


def test_no_soft_threshold_is_proposed_that_evicts_another_pod() -> None:
    readings = [reading(0, 110, evict="a", rate=MI), reading(1, 4000, gone="a")]
    for less, proposed in ((20, False), (700, True)):
        overtaken = tuple(replace(each, overtaken=Overtaken(less * MI, "default/web")) for each in readings[0].chosen)
        node = node_evidence("n", [replace(readings[0], chosen=overtaken), readings[1]])
        [memory] = advise(copies(node, LEAST_EVICTIONS), 99).signals
        assert (memory.soft is not None, memory.soft_other_first is None) == (proposed, proposed)


def test_no_soft_threshold_is_proposed_that_a_node_at_rest_meets() -> None:
    """13Gi were proposed to a node with 10.7Gi available at rest: pods went before anything grew."""
    fill = [reading(300, 480, evict="a", rate=20 * MI), reading(301, 4000, gone="a")]
    calm = replace(fill[0], earlier={Signal.MEMORY_AVAILABLE: ((90.0, 1100 * MI), (60.0, 1101 * MI), (20.0, 600 * MI))})
    falls = replace(fill[0], earlier={Signal.MEMORY_AVAILABLE: ((90.0, 1100 * MI), (60.0, 900 * MI), (20.0, 600 * MI))})
    for readings, at in (
        ([reading(0, 1000), *fill], "1000Mi were available on n at at 0"),
        ([reading(0, 5000), calm, fill[1]], "1.08Gi were available on n 1m30s before at 300"),
        ([reading(0, 5000), falls, fill[1]], None),
        ([reading(0, 5000), *fill], None),
        (fill, None),
    ):
        nodes = [*copies(node_evidence("m", fill), LEAST_EVICTIONS), node_evidence("n", readings)]
        [memory] = advise(nodes, 99).signals
        [line] = soft_lines(memory)
        assert (memory.soft is None) == (at is not None), line
        if at is not None:
            assert line.endswith(f"are met without a shortage, so that pods go while nothing is used up: {at}")


def test_a_threshold_that_an_eviction_does_not_clear_is_said() -> None:
    readings = [reading(0, 480, evict="a", rate=MI), reading(1, 510, gone="a")]
    [memory] = advise(copies(node_evidence("n", readings), LEAST_EVICTIONS), 99).signals
    higher = replace(memory, hard=520 * MI, other_first=memory.worst)
    assert list(hard_lines(higher)) == [
        "520Mi are met still after default/a is gone, so that one more pod goes: 510Mi were available then on n at at 0"
    ]


def test_that_a_higher_threshold_raises_its_copy_is_said() -> None:
    node = node_evidence("n", [reading(0, 480, evict="a", rate=100 * MI), reading(8, 4000, gone="a")])
    derived = replace(node, derived=frozenset({Signal.ALLOCATABLE_MEMORY_AVAILABLE}))
    for each, lines in ((derived, 1), (node, 0)):
        [memory] = advise(copies(each, LEAST_EVICTIONS), 99).signals
        assert memory.hard > 500 * MI
        assert len(list(hard_lines(memory))) == lines
        assert list(hard_lines(replace(memory, hard=400 * MI))) == []
    own = [replace(each, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE) for each in derived.episodes]
    both = replace(derived, episodes=(*derived.episodes, *own))
    memory, _ = advise(copies(both, LEAST_EVICTIONS), 99).signals
    assert list(hard_lines(memory)) == [], "the copy has a row of its own"
