"""Finds what systemReserved and kubeReserved have to be together.

The scheduler fills a node up to Allocatable, so pods within their requests leave what is reserved, less what is in use outside
pods. Of memory and disk space this must cover the highest threshold too, hard or soft, or such pods meet it. The use of a disk
is measured only where nodefs and imagefs are one: a threshold of either counts. Unused images, which reclaim frees, are left out
where they are known: as recorded, or what the next collection freed. What no process can allocate is part of the use
outside pods, and a soft threshold counts it as available: it is not reserved twice.

Memory that grew outside pods by a tenth of the capacity is taken for a leak: of such a node nothing is learned.

A reservation is at most half of the least capacity. Where only the threshold makes it more, the use outside pods alone is
proposed.
"""

from collections.abc import Mapping, Sequence

from evictd.advice.enough import quantile, round_up
from evictd.advice.evidence import NodeEvidence, OutsidePods
from evictd.core.frozen import frozen
from evictd.core.model.signal import Resource, Signal

LEAST_READINGS = 100
"""Readings of all nodes together from which a reservation is proposed."""
COVERED: Mapping[Resource, tuple[Signal, ...]] = {
    Resource.MEMORY: (Signal.MEMORY_AVAILABLE,),
    Resource.EPHEMERAL_STORAGE: (Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE),
}
"""The signals whose highest threshold a reservation covers."""


@frozen
class Reservation:
    """The advice for one resource: the sum that systemReserved and kubeReserved should have."""

    resource: Resource
    amount: int
    needs: tuple[int, ...]
    """The most that each node used outside pods, with the threshold where that counts, ascending."""
    worst: OutsidePods
    not_covered: tuple[str, ...]
    """Nodes that needed more."""
    readings: int
    smallest: OutsidePods
    """The use on the node of the least capacity."""
    threshold: int = 0
    """What the threshold adds on the deciding node; 0 for PIDs, and without a threshold."""
    deciding: OutsidePods | None = None
    """The use on the node whose use and threshold together are the amount; `None`: the one that used the most."""
    with_threshold: int = 0
    """The amount that would cover the threshold too, if that is too much for the node of the least capacity; else 0."""

    @property
    def fits(self) -> bool:
        """Whether it is at most half of the least capacity."""
        return fits_half(self.amount, self.smallest)

    @property
    def leaks(self) -> bool:
        """Whether what was used outside pods grew on each node: the memory of a leak is not to be reserved."""
        return _leaks(self.resource, self.worst)

    @property
    def enough_evidence(self) -> bool:
        """Whether enough readings were recorded to propose a setting."""
        return self.readings >= LEAST_READINGS

    @property
    def proposed(self) -> bool:
        """Whether there is enough evidence, and an amount that fits every node and is no leak."""
        return self.enough_evidence and self.fits and self.amount > 0 and not self.leaks


def _leaks(resource: Resource, used: OutsidePods) -> bool:
    """Whether it is memory that grew; files of the host, as images, come and go."""
    return resource is Resource.MEMORY and used.grew


def fits_half(amount: int, smallest: OutsidePods) -> bool:
    """Whether an amount is at most half of that node's capacity, if this was recorded."""
    return not smallest.capacity or amount * 2 <= smallest.capacity


def highest_threshold(
    node: NodeEvidence, signal: Signal, hard: int | None, soft: int | None, *, keeps_soft: bool
) -> int:
    """Return the node's highest threshold of a signal with the proposed ones, of memory in what processes can allocate.

    `hard` is `None` where none is proposed.
    """
    kept = node.soft.get(signal, 0) if keeps_soft else 0
    unallocatable = node.unallocatable if signal is Signal.MEMORY_AVAILABLE else 0
    return max(node.hard.get(signal, 0) if hard is None else hard, kept if soft is None else soft - unallocatable, 0)


def reservation(
    resource: Resource, nodes: Sequence[NodeEvidence], cover: int, thresholds: Mapping[str, int]
) -> Reservation:
    """Return the advice for one resource; `thresholds` by node are what it has to cover beside the use outside pods."""
    all_nodes = [node.outside_pods[resource] for node in nodes]
    found = [each for each in all_nodes if not _leaks(resource, each)] or all_nodes
    worst = max(found, key=lambda each: each.amount)
    smallest = min(found, key=lambda each: (not each.capacity, each.capacity))
    alone = {each.node: each.amount for each in found}
    needs = {name: amount + thresholds.get(name, 0) for name, amount in alone.items()}
    need = quantile(needs.values(), cover)
    both = amount = _rounded(need, smallest)
    deciding = next((each for each in (worst, *found) if needs[each.node] == need), worst)
    if not fits_half(both, smallest):
        needs, amount = alone, _rounded(quantile(alone.values(), cover), smallest)
    return Reservation(
        resource=resource,
        amount=amount,
        needs=tuple(sorted(needs.values())),
        worst=worst,
        not_covered=tuple(sorted(name for name, need in needs.items() if need > amount)),
        readings=sum(node.outside_readings.get(resource, 0) for node in nodes),
        smallest=smallest,
        threshold=thresholds.get(deciding.node, 0) if amount == both else 0,
        deciding=deciding if amount == both else worst,
        with_threshold=both if amount < both else 0,
    )


def _rounded(amount: int, smallest: OutsidePods) -> int:
    """Return the amount rounded up, but not above half of that node's capacity where the amount itself is not."""
    rounded = round_up(amount)
    return rounded if fits_half(rounded, smallest) or not fits_half(amount, smallest) else smallest.capacity // 2
