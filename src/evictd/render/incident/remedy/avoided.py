"""What would have avoided an eviction, and what would not have: the value that `avoidance` returns."""

from evictd.core.frozen import frozen


@frozen
class Avoidance:
    """What would have avoided an eviction, and what would not have, although it is the first that one thinks of."""

    by: tuple[str, ...] = ()
    not_by: tuple[str, ...] = ()

    def __add__(self, other: "Avoidance") -> "Avoidance":
        return Avoidance(by=self.by + other.by, not_by=self.not_by + other.not_by)
