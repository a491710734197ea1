"""Checks a `KubeletConfiguration` as the kubelet does at start, except its thresholds.

Kubelet `ValidateKubeletConfiguration`, with its texts, for the fields about eviction, garbage collection, cgroups and the node's
status. Each rule is a generator over the whole configuration, so that all faults are reported together.
"""

from collections.abc import Iterator
from functools import partial

from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.core.model.problem import ConfigProblem, quoted
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError

_ENFORCEMENTS = (
    "none",
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
)
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_SWAP_BEHAVIORS = ("", "NoSwap", "LimitedSwap")
_DRIVERS = ("cgroupfs", "systemd")


def validate(config: KubeletConfiguration, *, memory_qos: bool = True) -> list[ConfigProblem]:
    """List every fault for which the kubelet would refuse to start; `memory_qos`: whether that gate is on by default."""
    rules = (_images, _counts, partial(_memory, gate=memory_qos), _enforcements, _reserved, _places)
    return [problem for rule in rules for problem in rule(config)]


def _invalid(path: str, value: object, text: str, remedy: str = "") -> ConfigProblem:
    return ConfigProblem(path=path, value=str(value), wrong=f"invalid configuration: {text}", remedy=remedy)


def _images(config: KubeletConfiguration) -> Iterator[ConfigProblem]:
    minimum, maximum = format_duration(config.image_minimum_gc_age), format_duration(config.image_maximum_gc_age)
    if config.image_minimum_gc_age < 0:
        yield _invalid("imageMinimumGCAge", minimum, f"imageMinimumGCAge {minimum} must not be negative", "give 2m")
    if config.image_maximum_gc_age < 0:
        wrong = f"imageMaximumGCAge {maximum} must not be negative"
        yield _invalid("imageMaximumGCAge", maximum, wrong, "give 0s for no limit")
    elif 0 < config.image_maximum_gc_age <= config.image_minimum_gc_age:
        wrong = f"imageMaximumGCAge {maximum} must be greater than imageMinimumGCAge {minimum}"
        yield _invalid("imageMaximumGCAge", maximum, wrong, f"give more than {minimum}, or 0s for no limit")
    high, low = config.image_gc_high_threshold_percent, config.image_gc_low_threshold_percent
    for name, flag, percent in (("High", "high", high), ("Low", "low", low)):
        if not 0 <= percent <= 100:
            wrong = f"imageGC{name}ThresholdPercent (--image-gc-{flag}-threshold) {percent} must be between 0 and 100, inclusive"
            yield _invalid(f"imageGC{name}ThresholdPercent", percent, wrong)
    if low >= high:
        wrong = (
            f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
            f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        )
        yield _invalid("imageGCLowThresholdPercent", low, wrong)


def _counts(config: KubeletConfiguration) -> Iterator[ConfigProblem]:
    not_negative = (
        ("maxPods", "maxPods (--max-pods)", config.max_pods),
        ("podsPerCore", "podsPerCore (--pods-per-core)", config.pods_per_core),
        ("eventBurst", "eventBurst (--event-burst)", config.event_burst),
        ("eventRecordQPS", "eventRecordQPS (--event-qps)", config.event_record_qps),
    )
    for path, words, value in not_negative:
        if value < 0:
            yield _invalid(path, value, f"{words} {value} must not be a negative number")
    if config.node_lease_duration_seconds <= 0:
        value = config.node_lease_duration_seconds
        yield _invalid("nodeLeaseDurationSeconds", value, "nodeLeaseDurationSeconds must be greater than 0")
    if config.node_status_max_images < -1:
        value = config.node_status_max_images
        wrong = f"nodeStatusMaxImages (--node-status-max-images) {value} must be -1 or greater"
        yield _invalid("nodeStatusMaxImages", value, wrong)
    if not -1000 <= config.oom_score_adj <= 1000:
        value = config.oom_score_adj
        yield _invalid(
            "oomScoreAdj", value, f"oomScoreAdj (--oom-score-adj) {value} must be between -1000 and 1000, inclusive"
        )


def _memory(config: KubeletConfiguration, *, gate: bool) -> Iterator[ConfigProblem]:
    factor, policy, swap = (
        config.memory_throttling_factor,
        config.memory_reservation_policy,
        config.memory_swap.swap_behavior,
    )
    if factor is not None and not 0 < factor <= 1:
        wrong = f"memoryThrottlingFactor {factor:g} must be greater than 0 and less than or equal to 1.0"
        yield _invalid("memoryThrottlingFactor", f"{factor:g}", wrong)
    if policy != "None" and not config.feature_gates.get("MemoryQoS", gate):
        wrong = f"memoryReservationPolicy {quoted(policy)} requires MemoryQoS feature gate to be enabled"
        yield _invalid("memoryReservationPolicy", quoted(policy), wrong, "or set featureGates[MemoryQoS] to true")
    if swap not in _SWAP_BEHAVIORS:
        wrong = f'invalid memorySwap.swapBehavior {quoted(swap)}, acceptable values are: "", "NoSwap", "LimitedSwap"'
        yield _invalid("memorySwap.swapBehavior", quoted(swap), wrong)


def _enforcements(config: KubeletConfiguration) -> Iterator[ConfigProblem]:
    keys, name = config.enforce_node_allocatable, "enforceNodeAllocatable"
    for index, key in enumerate(keys):
        path = f"{name}[{index}]"
        if key not in _ENFORCEMENTS:
            wrong = f"option {quoted(key)} specified for enforceNodeAllocatable (--enforce-node-allocatable) is unknown"
            yield _invalid(path, quoted(key), wrong, f"valid options are {', '.join(_ENFORCEMENTS)}")
            continue
        if key in keys[:index]:
            wrong = f"duplicated enforcements {quoted(key)} in enforceNodeAllocatable (--enforce-node-allocatable)"
            yield _invalid(path, quoted(key), wrong, "name it once")
        if key != "none" and not config.cgroups_per_qos:
            wrong = (
                f"cgroupsPerQOS (--cgroups-per-qos) must be set to true when {quoted(key)} contained in "
                "enforceNodeAllocatable (--enforce-node-allocatable)"
            )
            yield _invalid(path, quoted(key), wrong, "or set enforceNodeAllocatable to []")
    if "none" in keys and len(keys) > 1:
        wrong = (
            "enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "
            '"none" is specified'
        )
        yield _invalid(name, ",".join(keys), wrong)
    yield from _enforcement_cgroups(config)


def _enforcement_cgroups(config: KubeletConfiguration) -> Iterator[ConfigProblem]:
    keys, name = config.enforce_node_allocatable, "enforceNodeAllocatable"
    cgroups = (("system", config.system_reserved_cgroup), ("kube", config.kube_reserved_cgroup))
    for kind, cgroup in cgroups:
        both = {f"{kind}-reserved", f"{kind}-reserved-compressible"}
        used = both.intersection(keys)
        if used == both:
            wrong = f"{name} may not contain both {quoted(f'{kind}-reserved')} and its compressible form"
            yield _invalid(name, ",".join(keys), wrong, "keep one of them")
        if used and not cgroup:
            field = f"{kind}ReservedCgroup"
            wrong = (
                f"{field} (--{kind}-reserved-cgroup) must be specified when {quoted(min(used))} is contained in {name}"
            )
            yield _invalid(field, '""', wrong)
    if config.reserved_system_cpus and (config.system_reserved_cgroup or config.kube_reserved_cgroup):
        wrong = (
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) "
            "or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
        yield _invalid("reservedSystemCPUs", config.reserved_system_cpus, wrong)


def _reserved(config: KubeletConfiguration) -> Iterator[ConfigProblem]:
    remedy = f"reserve some of {', '.join(_RESERVABLE)}, such as memory 1Gi"
    for kind, amounts in (("kube", config.kube_reserved), ("system", config.system_reserved)):
        for resource, text in amounts.items():
            if fault := _reserved_fault(resource, text):
                path, wrong = f"{kind}Reserved[{resource}]", f"--{kind}-reserved value failed to parse: {fault}"
                yield ConfigProblem(path=path, value=text, wrong=wrong, remedy=remedy)


def _reserved_fault(resource: str, text: str) -> str:
    if resource not in _RESERVABLE:
        return f"cannot reserve {quoted(resource)} resource"
    try:
        quantity = parse_quantity(text)
    except InvalidValueError as error:
        return f"failed to parse quantity {quoted(text)} for {quoted(resource)} resource: {error}"
    return f"resource quantity for {quoted(resource)} cannot be negative: {text}" if quantity.sign < 0 else ""


def _places(config: KubeletConfiguration) -> Iterator[ConfigProblem]:
    logs = config.pod_logs_dir
    if not _is_path(logs) or not logs.isascii() or "/../" in f"{logs}/" or "//" in logs:
        yield _invalid("podLogsDir", quoted(logs), f"podLogsDir {quoted(logs)} must be an absolute, clean ASCII path")
    if not config.container_runtime_endpoint:
        wrong = "the containerRuntimeEndpoint was not specified or empty"
        yield _invalid("containerRuntimeEndpoint", '""', wrong, "give unix:///run/containerd/containerd.sock")
    for path, endpoint in (
        ("containerRuntimeEndpoint", config.container_runtime_endpoint),
        ("imageServiceEndpoint", config.image_service_endpoint),
    ):
        if endpoint and not _is_path(endpoint.removeprefix("unix://")):
            yield _invalid(path, quoted(endpoint), "only unix sockets are supported", "give unix:///path/to/socket")
    if config.cgroup_driver not in _DRIVERS:
        yield _invalid("cgroupDriver", quoted(config.cgroup_driver), "must be cgroupfs or systemd")
    if config.system_cgroups and not config.cgroup_root:
        wrong = "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
        yield _invalid("systemCgroups", quoted(config.system_cgroups), wrong)
    if config.static_pod_path and not _is_path(config.static_pod_path):
        yield _invalid("staticPodPath", quoted(config.static_pod_path), "must be an absolute path")


def _is_path(text: str) -> bool:
    """Whether a text is an absolute path that the kernel takes."""
    return text.startswith("/") and "\0" not in text
