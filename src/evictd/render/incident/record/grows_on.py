"""Says what grew before an eviction and still grew at the end of the journal, and when that makes the node short again."""

from collections.abc import Sequence

from evictd.core.frozen import frozen
from evictd.core.model.signal import Resource
from evictd.render.incident.record.verdict import Grower
from evictd.render.text import first_of, usage_text

_NAMED = 3


@frozen
class GrowsOn:
    """What still grew at the end of the journal."""

    growers: Sequence[Grower]
    """Each with its growth at that time; the fastest first."""
    short_at: str
    """The time of the day at which a threshold is met at these rates."""

    @property
    def pods(self) -> tuple[str, ...]:
        """The pods among them."""
        return tuple(each.pod for each in self.growers if each.pod)

    @property
    def of_no_pod(self) -> bool:
        """Whether what belongs to no pod is among them."""
        return len(self.pods) < len(self.growers)

    def text(self, resource: Resource) -> str:
        """Write what grows, and when the node is short at that rate."""
        grow = [f"{each.name} still grows by {usage_text(each.rate, resource)} a second" for each in self.growers]
        rate = "that rate" if len(grow) == 1 else "these rates"
        return f"{first_of(grow, _NAMED)}, and at {rate} the node is short again at about {self.short_at}"
