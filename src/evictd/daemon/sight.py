"""What does one look at the node give: the core's observation, and what the hands need to act on it.

The observation is all that a decision may know; beside it lie the runtime's own ids, and what may be collected of whom.
"""

from dataclasses import dataclass

from evictd.core.container_gc import PodFates
from evictd.core.observation import Observation
from evictd.observe.runtime_view import RuntimeView


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One look. `now` on the boot-time clock, `wall` since the epoch, both nanoseconds."""

    now: int
    wall: int
    observation: Observation
    view: RuntimeView | None = None
    """`None`: the runtime did not answer."""
    fates: PodFates | None = None
    held: bool = False
    """Something is held back until it was measured; look again soon."""
