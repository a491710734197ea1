"""The advice as a table, as fields to copy, and as a picture."""

import io
from dataclasses import replace

from evictd.advice.evidence import NodeEvidence, OutsidePods, node_evidence
from evictd.advice.proposal import advise
from evictd.advice.reservation import LEAST_READINGS
from evictd.codec.records.reading_record import SignalLevel
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import SECOND
from evictd.render.advice.advice import advice_document, basis, print_advice
from evictd.render.advice.configuration import configuration
from evictd.render.console import make_console
from evictd.render.text import signal_amount
from tests.advice.test_proposal import AGAIN, MI, copies, reading, set_to, with_capacity, with_hard
from tests.stories import check_golden

GI = 2**30
USED = {Resource.MEMORY: 700 * MI, Resource.EPHEMERAL_STORAGE: 9000 * MI, Resource.PIDS: 310}
NODES = [
    node_evidence(
        f"n{i}",
        [
            reading(0, 480, evict="a", rate=i * 40 * MI),
            reading(3, 4000, gone="a"),
            *(replace(reading(at, 4000), outside_pods=USED) for at in range(90, 60 * LEAST_READINGS // 5 + 60, 60)),
        ],
        ["line 3: damaged"] * (i == 1),
    )
    for i in range(1, 6)
]
ADVICE = advise(NODES, 80)


def shown(*nodes: NodeEvidence, cover: int = 99) -> str:
    out = io.StringIO()
    print_advice(advise(nodes, cover), make_console(out, width=80))
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def test_the_table_has_the_setting_its_evidence_and_what_is_not_covered() -> None:
    check_golden("advise.txt", shown(*NODES, cover=80))


def test_headings_are_whole_on_a_narrow_terminal_and_nothing_used_has_no_amount() -> None:
    """They were cut to `MIN RECLA...`, and `0 were used up in 0s` had no unit."""
    ranges = []
    for number, hard in ((1, 500), (2, 100)):
        levels = {Signal.MEMORY_AVAILABLE: SignalLevel(available=480 * MI, capacity=8192 * MI, hard=hard * MI)}
        both = [replace(each, levels=levels) for each in (reading(0, 480, evict="a"), reading(0, 480, gone="a"))]
        ranges.append(node_evidence(f"n{number}", both))
    text = shown(*ranges)
    assert "…" not in text
    assert "what was used up was not measured until default/a was gone" in " ".join(text.split())


def test_the_loop_of_one_owner_is_said_and_nothing_in_use_is_no_reservation() -> None:
    """Pods of one owner in a loop are no accidents; that no threshold ends it is false of bursts that end by themselves."""
    first = reading(0, 480, evict="a")
    owned = replace(first, chosen=tuple(replace(each, owner="default/DaemonSet/a") for each in first.chosen))
    loop = [replace(owned, at=at * SECOND, outside_pods={Resource.PIDS: 0}) for at in range(LEAST_READINGS)]
    lines = shown_on_a_line(node_evidence("n", loop))
    assert (
        "100 of 100 evictions are pods of one owner on n, default/DaemonSet/a, started again and again: whether they would "
        "have stopped filling by themselves the evictions do not show; where they would, try a lower threshold with "
        "`evictd simulate WORLD --compare FILE`" in lines
    )
    assert "no threshold ends" not in lines
    assert "for pid: none, because nothing was in use outside pods, of 100 readings" in lines
    begun = [reading(at, 480, evict="a") for at in range(0, 5000, 1000)]
    begun = [replace(each, chosen=owned.chosen, rates={Signal.MEMORY_AVAILABLE: 450 * MI}) for each in begun]
    ended = [reading(at, 4000, gone="a") for at in range(1, 5000, 1000)]
    lines = shown_on_a_line(node_evidence("n", sorted([*begun, *ended], key=lambda each: each.at)))
    assert "`evictd simulate WORLD --compare FILE`. What is proposed is for how these fill" in lines
    assert "systemReserved" not in configuration(advise([node_evidence("n", loop)], 99))["kubelet"]


def test_one_eviction_is_not_enough_to_propose_anything() -> None:
    """It advised a threshold, a soft one and reservations, `enough for 99 % of the nodes`, from a single eviction."""
    few = replace(NODES[4], outside_readings=dict.fromkeys(USED, LEAST_READINGS - 1))
    check_golden("advise-few.txt", shown(few))
    advice = advise([few], 99)
    assert configuration(advice) == {"kubelet": {}, "evictd": {}}
    document = advice_document(advice)
    [signal] = document["signals"]
    assert (signal["proposed"], signal["evictions"], signal["hard"], signal["soft"]) == (False, 1, None, None)
    assert {(each["proposed"], each["amount"], each["readings"]) for each in document["reserved"]} == {
        (False, None, 99)
    }
    assert (document["leastShortages"], document["leastReadings"]) == (5, 100)


def test_what_fits_no_node_is_left_out_with_the_reason() -> None:
    ended = [reading(0, 480, evict="a"), reading(2, 400, gone="a")]
    small = node_evidence("small", [with_capacity(each, 1024) for each in ended])
    lines = shown_on_a_line(*NODES, small)
    assert "memory.available: none proposed: no one value fits nodes of 1Gi (small) and 8Gi: advise them apart" in lines
    assert "evictionHard" not in configuration(advise([*NODES, small], 99))["kubelet"]
    assert "More evidence" not in lines
    used = {Resource.MEMORY: 700 * MI, Resource.EPHEMERAL_STORAGE: 90 * GI}
    on = {
        name: [
            replace(each, capacity={Resource.MEMORY: memory * GI, Resource.EPHEMERAL_STORAGE: 100 * GI})
            for each in seen
        ]
        for name, memory in (("a", 1), ("b", 8))
        for seen in [[replace(reading(at, 4000), outside_pods=used) for at in range(LEAST_READINGS)]]
    }
    on["a"] = [replace(each, outside_pods={Resource.MEMORY: MI}) for each in on["a"]]
    nodes = [node_evidence(name, readings) for name, readings in on.items()]
    lines = shown_on_a_line(*nodes)
    assert "for memory: none proposed: no one value fits nodes of 1Gi (a) and 8Gi: advise them apart" in lines
    assert (
        "for ephemeral-storage: none proposed: 96Gi (rounded up) is more than half of 100Gi, so find what used it instead"
        in lines
    )
    assert configuration(advise(nodes, 99))["kubelet"] == {}


def test_the_minimum_reclaim_has_its_reason() -> None:
    nodes = [node_evidence(f"n{number}", AGAIN) for number in range(5)]
    assert (
        "minimum reclaim 224Mi: at most that was used up again before the next pod in the ranking"
        in shown_on_a_line(*nodes)
    )
    quiet = node_evidence("quiet", [reading(0, 110, evict="hog", rate=1), reading(2, 600, gone="hog")])
    assert (
        "no minimum reclaim: 224Mi would have kept a shortage from coming back, but 600Mi were available on quiet after "
        "default/hog was gone at at 0, so one more pod would have been evicted"
    ) in shown_on_a_line(*nodes, quiet)
    small = node_evidence("small", [with_capacity(each, 600) for each in AGAIN])
    why = "but that and the threshold are more than half of the capacity of small"
    assert why in shown_on_a_line(*nodes, small)


def test_what_was_enough_for_no_node_is_not_proposed() -> None:
    """The headline claimed `enough for the worst that was recorded` over `not covered:` and the names of all nodes."""
    full = [node_evidence(f"n{i}", [reading(0, 0, evict="a"), reading(1, 4000, gone="a")]) for i in range(5)]
    lines = shown_on_a_line(*full)
    assert lines.startswith("5 nodes, 10 readings, 5 evictions: nothing is proposed")
    assert "none proposed: 500Mi would have been enough for no node; find what used it instead" in lines
    assert configuration(advise(full, 99))["kubelet"] == {}
    early = [node_evidence("early", [reading(0, 480, evict="a", rate=1), reading(1, 4000, gone="a")])]
    lines = shown_on_a_line(*full[:4], *early)
    assert lines.startswith("5 nodes, 10 readings, 5 evictions; enough for all but 4 nodes")
    assert "no lower one is proposed, because an eviction was too late with this" in lines


def test_a_soft_threshold_has_a_grace_period_and_a_soft_eviction_names_its_part() -> None:
    """`check` warned of the advised soft threshold; 18 s of a soft grace period set the hard threshold."""
    soft = [reading(0, 900, evict="a", rate=MI, hard=False), reading(20, 4000, gone="a")]
    hard = [reading(0, 400, evict="a", rate=MI), reading(1, 4000, gone="a")]
    lines = shown_on_a_line(node_evidence("soft", soft), *(node_evidence(f"n{i}", hard) for i in range(4)))
    assert "20Mi were used up in 20s (a hard eviction takes at most 5s: 5Mi) until default/a was gone" in lines
    assert "evictionMaxPodGracePeriod: 30: the API's default for a pod, because too few soft evictions were" in lines
    advice = advise([node_evidence("soft", soft), *(node_evidence(f"n{i}", hard) for i in range(4))], 99)
    [signal] = [each for each in advice.signals if each.soft is not None]
    assert signal.soft is not None
    assert f"{signal_amount(signal.soft, signal.signal)} for 30s " in lines, "the table had the amount alone"
    assert "a second, 30s and evictionMaxPodGracePeriod pass before the hard threshold is met" in lines


def test_the_fall_before_the_decision_is_named() -> None:
    slow = [reading(0, 900), reading(10, 100, evict="a"), reading(11, 900, gone="a")]
    nodes = [node_evidence(f"n{number}", slow) for number in range(5)]
    fell = "400Mi from the threshold to the decision (800Mi where the next cycle is 10s away, as without memory.watch)"
    assert f"{fell}; then 80Mi were used up in 1s until" in shown_on_a_line(*nodes)
    assert advice_document(advise(nodes, 99))["signals"][0]["worst"]["usedBeforeDecision"] == 400 * MI


def shown_on_a_line(*nodes: NodeEvidence) -> str:
    return " ".join(shown(*nodes).split())


def test_a_threshold_that_a_node_has_higher_is_to_be_kept_there() -> None:
    """With `--cover 90` 200Mi was proposed although a node had 500Mi, and `no lower one is proposed` was all that was said."""
    quiet = node_evidence("quiet", [with_hard(reading(0, 4000), 200)])
    nodes = [*(set_to(120, 119, 40, node) for node in "abcdefghi"), quiet]
    kept = "not for quiet: keep up to 200Mi there, which this would lower"
    assert kept in " ".join(shown(*nodes, cover=80).split())
    assert kept not in shown_on_a_line(*nodes)


def test_a_leak_outside_pods_is_named_in_place_of_a_threshold() -> None:
    fill = node_evidence("n", [reading(0, 480, evict="a", rate=90 * MI), reading(1, 4000, gone="a")])
    outside = OutsidePods(node="n", wall="", amount=3000 * MI, capacity=8192 * MI, least=500 * MI)
    leak = replace(fill, outside_pods={Resource.MEMORY: outside})
    said = "memory.available: none proposed: what is used outside pods grew on n0, n1, n2, n3, n4, and no threshold ends that"
    assert said in shown_on_a_line(*copies(leak, 5))


def test_a_lead_that_is_advised_alone_is_no_lack_of_evidence() -> None:
    """The first line had "not enough to propose anything", and a later one proposed `memory.lead`."""
    alone = replace(
        advise([node_evidence("n", [])], 99),
        led=node_evidence("n", [reading(0, 480, evict="a", rate=900 * MI)]).episodes[0],
    )
    assert basis(alone).endswith(": no threshold and no reservation is proposed, only memory.lead")
    assert basis(replace(alone, led=None)).endswith(": not enough to propose anything")


def test_nothing_is_advised_of_calm_nodes() -> None:
    out = io.StringIO()
    print_advice(advise([node_evidence("n", [reading(0, 4000)])], 99), make_console(out))
    assert "no eviction for pressure was recorded" in out.getvalue()


def test_what_would_cover_a_disk_without_a_threshold_is_said_with_its_evidence() -> None:
    """A disk of which no threshold said anything was full, and the advice was silent."""
    full = SignalLevel(available=0, capacity=100 * GI)
    nodes = [
        node_evidence(f"n{i}", [replace(reading(0, 4000), uncovered={Signal.NODEFS_AVAILABLE: full})]) for i in (1, 2)
    ]
    text = " ".join(shown(*nodes).split())
    assert "nodefs.available: has no threshold on n1, n2, and it ran out: 0 of 100Gi were left on n1 at at 0" in text
    assert "add `nodefs.available: 10%` to the lines of evictionHard" in text
    assert "2 of 2 recorded readings would have met it, on 2 occasions" in text
    assert "one accident" not in text
    assert "on 1 occasion; one accident says little of the next" in " ".join(shown(nodes[0]).split())
    close = SignalLevel(available=11 * GI, capacity=100 * GI)
    text = shown(node_evidence("n", [replace(reading(0, 4000), uncovered={Signal.NODEFS_AVAILABLE: close})]))
    assert "it came close" in " ".join(text.split())
    assert "none of 1 recorded reading would have met it" in " ".join(text.split())
    [missing] = advice_document(advise(nodes, 99))["missing"]
    assert (missing["hard"], missing["nodes"], missing["below"], missing["occasions"]) == ("10%", ["n1", "n2"], 2, 2)


def test_where_the_kernel_killed_without_a_threshold_of_memory_the_line_to_add_is_said() -> None:
    """Only `the kernel killed 6 processes` was said: after a kill the readings show enough memory."""
    level = {Signal.MEMORY_AVAILABLE: SignalLevel(available=4096 * MI, capacity=8192 * MI)}
    killed = replace(reading(0, 4000), levels={}, uncovered=level, killed={"default/a": 1})
    text = " ".join(shown(node_evidence("n", [killed])).split())
    assert (
        "memory.available: has no threshold on n, and the kernel had killed for want of it on n at at 0. To cover it add "
        "`memory.available: 500Mi` to the lines of evictionHard; none of 1 recorded reading would have met it, "
        "kills by the kernel precede 1"
    ) in text


def test_a_threshold_that_rests_on_one_eviction_or_node_says_so() -> None:
    calm = [node_evidence(f"c{i}", [reading(0, 480, evict="a", rate=1), reading(1, 4000, gone="a")]) for i in range(5)]
    fast = [
        node_evidence(f"f{i}", [reading(0, 480, evict="b", rate=900 * MI), reading(1, 4000, gone="b")]) for i in (1, 2)
    ]
    text = "this rests on {}: without it 500Mi would be proposed"
    assert text.format("f1") in " ".join(shown(fast[0], *calm).split())
    assert "rests on" not in shown(*fast, *calm)
    twice = replace(fast[0], episodes=fast[0].episodes * 2)
    assert text.format("f1") in " ".join(shown(twice, *calm).split()), (
        "one fast node set the value of all, and was not named"
    )
    one = replace(calm[0], episodes=(*fast[0].episodes, *(each.episodes[0] for each in calm)))
    assert text.format("that one eviction") in " ".join(shown(one).split())


def test_a_list_to_copy_says_which_signals_it_would_drop() -> None:
    """A listed evictionHard replaces what was there, so the threshold of the disk was lost with the line for memory."""
    disk = SignalLevel(available=50 * GI, capacity=100 * GI, hard=10 * GI)
    whole = [replace(node, hard={**node.hard, Signal.NODEFS_AVAILABLE: disk.hard or 0}) for node in NODES]
    assert "keep your evictionHard of nodefs.available: a list" in " ".join(shown(*whole, cover=80).split())
    assert advice_document(advise(whole, 80))["keep"] == {"evictionHard": ["nodefs.available"], "evictionSoft": []}
    assert "keep your" not in shown(*NODES, cover=80)


def test_evictions_of_one_shortage_are_the_evidence_of_one() -> None:
    """A threshold fell to a tenth on the evidence of five evictions within a second."""
    seen = [
        each
        for at in range(0, 50, 10)
        for each in (reading(at, 480, evict=f"p{at}", rate=1), reading(at + 2, 400, gone=f"p{at}"))
    ]
    lines = shown_on_a_line(node_evidence("n", seen))
    assert (
        "not enough evidence: 5 evictions in 1 shortage (those less than 10 minutes apart are of one, unless the node's "
        "condition ended between them); a threshold is proposed from 5 shortages on"
    ) in lines
    assert advice_document(advise([node_evidence("n", seen)], 99))["signals"][0]["shortages"] == 1
    assert "in 1 shortage" not in shown_on_a_line(*NODES)


def test_evictions_that_did_not_help_are_said() -> None:
    """Of a writer into a hostPath volume nothing was said but that the evidence was too little."""
    seen = [
        reading(0, 480, evict="a"),
        replace(reading(2, 400, gone="a"), in_vain=frozenset({Signal.MEMORY_AVAILABLE})),
    ]
    lines = shown_on_a_line(node_evidence("n", seen))
    assert (
        "evictions did not help on n from at 2 on (EvictionsDoNotHelp): no threshold changes that; find what" in lines
    )
    [signal] = advice_document(advise([node_evidence("n", seen)], 99))["signals"]
    assert signal["inVain"] == [{"node": "n", "from": "at 2"}]


def test_evictions_whose_use_was_not_measured_are_said() -> None:
    """`6 of 6 evictions leave the reserve` was claimed of evictions whose use counted as 0."""
    soft = [
        node_evidence(f"s{i}", [reading(0, 424, evict="a", hard=False), reading(5, 4000, gone="a")]) for i in range(5)
    ]
    lines = shown_on_a_line(*soft)
    assert (
        "not enough evidence: 5 evictions, and of none was the use measured until the pod was gone; a threshold"
        in lines
    )
    assert "what was used up was not measured until default/a was gone" in lines
    [signal] = advice_document(advise(soft, 99))["signals"]
    assert (signal["useNotMeasured"], signal["worst"]["used"], signal["hard"]) == (5, None, None)
    lines = shown_on_a_line(*NODES, *soft)
    assert "proposed from 10 evictions, of 5 of them the use was not measured" in lines
    assert "of 5 evictions whose use was measured leave the reserve of 100Mi" in lines


def test_why_no_soft_threshold_is_proposed() -> None:
    """`it falls too fast, or how fast was not measured` did not say which."""
    steady = [
        node_evidence(f"l{i}", [reading(0, 480, evict="a"), reading(3, 460), reading(5, 4000, gone="a")])
        for i in range(5)
    ]
    assert "no soft threshold: how fast it falls was not measured" in shown_on_a_line(*steady)
    assert "no soft threshold: it falls too fast, by " in shown_on_a_line(*NODES)


def test_a_threshold_that_is_kept_is_in_no_list_to_copy() -> None:
    """A percentage that sufficed stood as an amount of bytes in the list, and a lower one led to a full disk."""
    early = copies(node_evidence("n", [reading(0, 480, evict="a", rate=3 * MI), reading(1, 4000, gone="a")]), 5)
    lines = shown_on_a_line(*early)
    assert (
        "memory.available: keep 500Mi: with it none of 5 evictions on 5 nodes was too late; how fast the next" in lines
    )
    assert "keep your evictionHard" not in lines, "there is no list of evictionHard"
    document = advice_document(advise(early, 99))
    assert "evictionHard" not in document["configuration"]["kubelet"]
    assert (document["signals"][0]["keeps"], document["signals"][0]["hard"]) == (True, None)


def test_reservations_alone_are_not_said_to_be_enough_for_evictions() -> None:
    """`0 evictions; enough for the worst that was recorded` was said where only a reservation is proposed."""
    outside = {Resource.MEMORY: OutsidePods(node="n", wall="", amount=650 * MI, capacity=8192 * MI)}
    calm = replace(
        node_evidence("n", [reading(0, 4000)]), outside_pods=outside, outside_readings={Resource.MEMORY: LEAST_READINGS}
    )
    assert basis(advise([calm], 99)).endswith(
        "0 evictions; the reservations are enough for the worst that was recorded"
    )


def test_what_was_enough_but_where_nothing_was_left_is_proposed_and_says_so() -> None:
    """Of a disk that was full at one of seven decisions `1.75Gi would have been enough for no node` was said."""
    seen = [
        each
        for at, left in ((0, 0), (1000, 350), (2000, 350), (3000, 350), (4000, 350))
        for each in (reading(at, left, evict=f"p{at}", rate=30 * MI), reading(at + 10, 4000, gone=f"p{at}"))
    ]
    lines = shown_on_a_line(node_evidence("n", seen))
    assert "1 node, 10 readings, 5 evictions; enough for most of what was recorded" in lines
    assert "not covered: n; nothing was left at 1 of 5 decisions: how much was needed then is not known" in lines
    assert advice_document(advise([node_evidence("n", seen)], 99))["signals"][0]["hard"] is not None
