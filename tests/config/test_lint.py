"""Lints find thresholds that are valid but probably not intended, and no others."""

import pytest

from evictd.config.lint import lint, without_effect
from evictd.config.lint_model import Lint, LintFinding, Severity, Surroundings
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.threshold import Operator, Origin, Threshold, ThresholdValue, stall_threshold
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes, of_count, parse_quantity

GIB = 2**30

COMPLETE = {
    "memory.available": "500Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
    "pid.available": "5%",
}


def thresholds(hard: dict[str, str], soft: dict[str, str] | None = None) -> tuple[Threshold, ...]:
    soft = soft or {}
    maps = ThresholdMaps(hard=hard, soft=soft, soft_grace_period=dict.fromkeys(soft, "1m"))
    found, problems = parse_threshold_config(maps)
    assert problems == ()
    return found


def found(
    hard: dict[str, str], soft: dict[str, str] | None = None, around: Surroundings | None = None
) -> list[tuple[Lint, str]]:
    findings = lint(thresholds(hard, soft), around or Surroundings())
    return [(one.lint, "" if one.signal is None else one.signal.value) for one in findings]


def test_a_complete_configuration_has_no_findings() -> None:
    assert found(COMPLETE) == []


def test_thresholds_on_one_disk_are_compared_with_each_other() -> None:
    """It warned that the kubelet acts at nodefs 10% first, where evictd's own imagefs threshold of 15% acts on that disk."""
    kubelet = thresholds({"nodefs.available": "12%", "nodefs.inodesFree": "5%"})
    own = {**COMPLETE, "nodefs.inodesFree": "6%"}
    for disks, kinds in (
        ((Filesystem.NODEFS,), [Lint.SOFT_NEVER_FIRST]),
        ((Filesystem.NODEFS, Filesystem.IMAGEFS), [Lint.KUBELET_ACTS_FIRST]),
    ):
        around = Surroundings(filesystems=disks, kubelet=kubelet)
        shown = lint(thresholds(own, {"nodefs.available": "13%"}), around)
        disk = [each for each in shown if each.signal is Signal.NODEFS_AVAILABLE]
        assert [each.lint for each in disk] == kinds
        one = "the soft threshold 13% is not above the hard one imagefs.available on the same disk, 15%: it can never act first"
        assert (disk[0].message == one) is (kinds == [Lint.SOFT_NEVER_FIRST])


def test_every_finding_has_a_remedy() -> None:
    findings = lint((), Surroundings())
    assert len(findings) == 6
    assert all(finding.message and finding.remedy for finding in findings)


@pytest.mark.parametrize("signal", ["nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"])
def test_a_filesystem_without_a_threshold_is_found(signal: str) -> None:
    rest = {key: value for key, value in COMPLETE.items() if key != signal}
    assert found(rest) == [(Lint.FILESYSTEM_WITHOUT_THRESHOLD, signal)]
    assert found(rest, {signal: "1Gi"}) == []


def test_a_filesystem_that_the_node_does_not_have_needs_none() -> None:
    rest = {key: value for key, value in COMPLETE.items() if not key.startswith("imagefs")}
    assert found(rest, around=Surroundings(filesystems=[Filesystem.NODEFS])) == []


def test_no_memory_threshold_is_found() -> None:
    """As with k3s, whose defaults are `imagefs.available<5%,nodefs.available<5%`."""
    rest = {key: value for key, value in COMPLETE.items() if key != "memory.available"}
    assert found(rest) == [(Lint.NO_MEMORY_THRESHOLD, "memory.available")]
    assert found(rest, {"memory.available": "1Gi"}) == []
    assert found({**rest, "allocatableMemory.available": "1Gi"}) == []


def test_no_pid_threshold_is_found() -> None:
    rest = {key: value for key, value in COMPLETE.items() if key != "pid.available"}
    assert found(rest) == [(Lint.NO_PID_THRESHOLD, "pid.available")]


@pytest.mark.parametrize("soft", ["500Mi", "400Mi", "5%"])
def test_a_soft_threshold_that_is_not_above_the_hard_one_is_found(soft: str) -> None:
    around = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(8 * GIB)})
    assert found(COMPLETE, {"memory.available": soft}, around) == [(Lint.SOFT_NEVER_FIRST, "memory.available")]


@pytest.mark.parametrize("soft", ["501Mi", "10%"])
def test_a_soft_threshold_above_the_hard_one_is_fine(soft: str) -> None:
    around = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(8 * GIB)})
    assert found(COMPLETE, {"memory.available": soft}, around) == []


def test_percentages_compare_without_a_capacity_and_mixed_units_only_with_one() -> None:
    assert found(COMPLETE, {"nodefs.available": "9%"}) == [(Lint.SOFT_NEVER_FIRST, "nodefs.available")]
    assert found(COMPLETE, {"memory.available": "1%"}) == []


def test_a_memory_threshold_below_the_kernels_low_watermark_is_found() -> None:
    around = Surroundings(low_watermark_bytes=600 * 2**20)
    assert found(COMPLETE, around=around) == [(Lint.BELOW_LOW_WATERMARK, "memory.available")]
    assert found(COMPLETE, around=Surroundings(low_watermark_bytes=400 * 2**20)) == []


def test_a_kubelet_that_acts_at_the_same_amount_is_found() -> None:
    around = Surroundings(kubelet=thresholds({"memory.available": "500Mi", "nodefs.available": "5%"}))
    assert found(COMPLETE, around=around) == [(Lint.KUBELET_ACTS_FIRST, "memory.available")]


def test_a_soft_threshold_above_a_hard_one_of_the_kubelet_is_not_enough_where_evictd_has_a_hard_one() -> None:
    """A kubelet at 750Mi acts before evictd at 500Mi where memory falls quickly, whatever is above it for 1m30s."""
    around = Surroundings(kubelet=thresholds({"memory.available": "750Mi"}))
    assert found(COMPLETE, {"memory.available": "1Gi"}, around) == [(Lint.KUBELET_ACTS_FIRST, "memory.available")]
    rest = {key: value for key, value in COMPLETE.items() if key != "memory.available"}
    assert found(rest, {"memory.available": "1Gi"}, around) == [], "nothing of evictd is as quick, and 1Gi is met first"
    above = Surroundings(kubelet=thresholds({"memory.available": "499Mi"}))
    assert found(COMPLETE, {"memory.available": "1Gi"}, above) == []


def test_a_soft_threshold_of_the_kubelet_that_acts_first_is_found() -> None:
    theirs = thresholds({}, {"memory.available": "2Gi"})
    (finding,) = [
        each
        for each in lint(thresholds(COMPLETE, {"memory.available": "1Gi"}), Surroundings(kubelet=theirs))
        if each.lint is Lint.KUBELET_ACTS_FIRST
    ]
    assert finding.message.startswith("the kubelet acts at 2Gi for ")
    assert finding.remedy == "raise evictd's threshold, or remove the kubelet's"
    assert found(COMPLETE, {"memory.available": "3Gi"}, Surroundings(kubelet=theirs)) == []


def test_a_signal_that_only_the_kubelet_has_is_no_finding() -> None:
    rest = {key: value for key, value in COMPLETE.items() if key != "pid.available"}
    around = Surroundings(kubelet=thresholds({"pid.available": "10%"}))
    assert found(rest, around=around) == [(Lint.NO_PID_THRESHOLD, "pid.available")]


def test_inert_and_derived_thresholds_are_no_findings() -> None:
    inert = Threshold(signal=Signal.PID_AVAILABLE, value=ThresholdValue(), operator=Operator.NONE)
    derived = Threshold(
        signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE,
        value=ThresholdValue(quantity=parse_quantity("1")),
        origin=Origin.DERIVED,
    )
    lints = [one.lint for one in lint((inert, derived), Surroundings(low_watermark_bytes=GIB, filesystems=()))]
    assert lints == [Lint.NO_MEMORY_THRESHOLD, Lint.NO_PID_THRESHOLD]


@pytest.mark.parametrize(("value", "met"), [("200", False), ("201", True), ("0.5%", False), ("5%", True)])
def test_a_pid_threshold_within_the_kernels_reserve_is_found(value: str, met: bool) -> None:
    around = Surroundings(capacities={Signal.PID_AVAILABLE: of_count(32768)}, unusable_pids=200)
    expected = [] if met else [(Lint.PID_THRESHOLD_NEVER_MET, "pid.available")]
    assert found({**COMPLETE, "pid.available": value}, around=around) == expected


def test_without_a_reserve_every_pid_threshold_can_be_met() -> None:
    assert found({**COMPLETE, "pid.available": "1"}, around=Surroundings()) == []


def test_each_field_without_effect_is_a_warning() -> None:
    assert without_effect(("maxPods",)) == ("maxPods has no effect on evictd; only the kubelet obeys it",)


def stalls(*bounds: tuple[int, int, bool], signal: Signal = Signal.PODS_MEMORY_FULL_10) -> tuple[Threshold, ...]:
    """Thresholds by hundredths of a percent, seconds, and whether they are hard."""
    made = (stall_threshold(signal, above, duration=seconds * SECOND, hard=hard) for above, seconds, hard in bounds)
    return (*thresholds(COMPLETE), *made)


def test_a_stall_that_the_kernel_does_not_report_is_found() -> None:
    """As on cgroup v1; only where the node was read.

    The remedy was `scope: node` too, as if cgroup v1 were enough for it. There no pod's own stalls are known: for memory
    a pod goes that stalls for nothing, for io none goes.
    """
    read = Surroundings(available={Signal.MEMORY_AVAILABLE: of_bytes(GIB)})
    [finding] = lint(stalls((2000, 20, False)), read)
    assert (finding.lint, finding.remedy) == (Lint.STALL_NOT_OBSERVED, "boot with psi=1 and cgroup v2")
    [node] = lint(stalls((2000, 20, False), signal=Signal.NODE_IO_SOME_60), read)
    assert node.remedy == "boot with psi=1 and cgroup v2"
    observed = Surroundings(available={Signal.PODS_MEMORY_FULL_10: of_count(10_000)})
    assert not lint(stalls((2000, 20, False)), observed)
    assert not lint(stalls((2000, 20, False)), Surroundings())


def test_a_threshold_on_swap_where_there_is_none_is_found() -> None:
    swap = Threshold(signal=Signal.SWAP_AVAILABLE, value=ThresholdValue(fraction=0.1))
    without = Surroundings(available={Signal.MEMORY_AVAILABLE: of_bytes(GIB)})
    [finding] = lint((*thresholds(COMPLETE), swap), without)
    assert (finding.lint, finding.message) == (Lint.SWAP_NOT_OBSERVED, "cannot be met here: the node has no swap")
    assert not lint((*thresholds(COMPLETE), swap), Surroundings(available={Signal.SWAP_AVAILABLE: of_bytes(GIB)}))
    assert not lint((*thresholds(COMPLETE), swap), Surroundings())


def test_a_soft_stall_threshold_that_never_acts_first_is_found() -> None:
    """The hard one is met at a smaller share, and no later."""
    [finding] = lint(stalls((1000, 20, True), (2000, 20, False)), Surroundings())
    assert finding.message == "the soft threshold 20% is not below the hard one 10%: it can never act first"
    assert not lint(stalls((1000, 60, True), (2000, 20, False)), Surroundings())
    assert not lint(stalls((2000, 20, True), (1000, 20, False)), Surroundings())


# --- thresholds that evict pods of a healthy node are errors ------------------------------------------------------------

DISK = {Signal.NODEFS_AVAILABLE: parse_quantity("100Gi")}
AROUND = Surroundings(
    capacities={Signal.MEMORY_AVAILABLE: parse_quantity("24Gi"), **DISK},
    available={Signal.MEMORY_AVAILABLE: parse_quantity("20Gi"), Signal.NODEFS_AVAILABLE: parse_quantity("97Gi")},
    filesystems=(),
)


def errors(maps: ThresholdMaps) -> list[LintFinding]:
    thresholds, problems = parse_threshold_config(maps)
    assert problems == ()
    return [one for one in lint(thresholds, AROUND) if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("signal", "value", "kind"),
    [
        ("memory.available", "5000Gi", Lint.NOT_BELOW_CAPACITY),
        ("memory.available", "24Gi", Lint.NOT_BELOW_CAPACITY),
        ("memory.available", "21Gi", Lint.MET_ALREADY),
        ("memory.available", "13Gi", Lint.ABOVE_HALF_OF_CAPACITY),
        ("nodefs.available", "95%", Lint.ABOVE_HALF_OF_CAPACITY),
        ("nodefs.available", "98%", Lint.MET_ALREADY),
    ],
)
@pytest.mark.parametrize("soft", [False, True])
def test_a_threshold_that_is_met_on_a_healthy_node(signal: str, value: str, kind: Lint, soft: bool) -> None:
    """`evictd check` passed all of them."""
    maps = (
        ThresholdMaps(soft={signal: value}, soft_grace_period={signal: "1m"})
        if soft
        else ThresholdMaps(hard={signal: value})
    )
    found = [one for one in errors(maps) if one.signal is Signal(signal)]
    assert [one.lint for one in found] == [kind]
    assert "of 24Gi" in found[0].message or "of 100Gi" in found[0].message or "Gi left" in found[0].message


@pytest.mark.parametrize(("reclaim", "found"), [("90%", True), ("45Gi", True), ("30%", False), ("1Gi", False)])
def test_a_minimum_reclaim_that_evicts_pod_after_pod(reclaim: str, found: bool) -> None:
    maps = ThresholdMaps(hard={"nodefs.available": "10%"}, minimum_reclaim={"nodefs.available": reclaim})
    assert [one.lint for one in errors(maps)] == [Lint.RECLAIM_TOO_LARGE] * found


@pytest.mark.parametrize(
    ("reclaim", "available", "found"),
    [("30Gi", "35Gi", True), ("30Gi", "45Gi", False), ("9Gi", "15Gi", False), ("30Gi", "8Gi", False)],
)
def test_a_minimum_reclaim_beyond_what_is_left_now(reclaim: str, available: str, found: bool) -> None:
    """One that is no larger than its threshold is usual on a node that is nearly full; a met threshold is said instead."""
    maps = ThresholdMaps(hard={"nodefs.available": "10Gi"}, minimum_reclaim={"nodefs.available": reclaim})
    around = Surroundings(
        capacities={Signal.NODEFS_AVAILABLE: of_bytes(100 * GIB)},
        available={Signal.NODEFS_AVAILABLE: parse_quantity(available)},
    )
    findings = [
        one for one in lint(parse_threshold_config(maps)[0], around) if one.lint is Lint.RECLAIM_ABOVE_AVAILABLE
    ]
    assert [one.severity for one in findings] == [Severity.WARNING] * found


@pytest.mark.parametrize(
    ("signal", "period", "found"),
    [
        ("memory.available", "90m", True),
        ("memory.available", "30m", True),
        ("memory.available", "29m", False),
        ("memory.available", "25h", False),
        ("nodefs.available", "90m", False),
    ],
)
def test_a_grace_period_of_memory_of_half_an_hour_is_a_note(signal: str, period: str, found: bool) -> None:
    """One over a day has a warning of its own."""
    maps = ThresholdMaps(hard=COMPLETE, soft={signal: "20%"}, soft_grace_period={signal: period})
    findings = lint(parse_threshold_config(maps)[0], Surroundings())
    assert [(one.lint, one.severity) for one in findings] == [(Lint.LONG_MEMORY_GRACE, Severity.NOTE)] * found


def test_what_is_not_known_of_the_node_is_no_error() -> None:
    thresholds, _ = parse_threshold_config(
        ThresholdMaps(hard={"memory.available": "5000Gi", "nodefs.available": "45%"})
    )
    assert all(one.severity is Severity.WARNING for one in lint(thresholds, Surroundings()))


@pytest.mark.parametrize(
    ("value", "lint_found"),
    [("95%", [Lint.ABOVE_HALF_OF_CAPACITY]), ("50%", []), ("900Ti", [])],
)
def test_a_percentage_is_too_high_on_a_disk_of_unknown_size(value: str, lint_found: list[Lint]) -> None:
    assert [kind for kind, _ in found(COMPLETE | {"nodefs.available": value})] == lint_found
