"""What would have avoided an eviction, and what would not have: the value that `avoidance` returns."""

from evictd.core.frozen import frozen


@frozen
class InVain:
    """A setting that would not have avoided an eviction, although it is the first that one thinks of."""

    text: str
    """The setting, and after a colon why not."""
    moves: bool = False
    """Whether it keeps this pod, and another one would have gone in its place."""
    at: str = ""
    """The earlier eviction that it is about, as a clause; empty for that of the incident."""

    @property
    def setting(self) -> str:
        """The setting alone, with the eviction that it is about."""
        return self._with_place(self.text.partition(": ")[0])

    @property
    def whole(self) -> str:
        """The text, with the eviction that it is about."""
        return self._with_place(self.text)

    def _with_place(self, text: str) -> str:
        return f"{self.at}: {text}" if self.at else text


@frozen
class Avoidance:
    """What would have avoided an eviction, and what would not have."""

    by: tuple[str, ...] = ()
    in_vain: tuple[InVain, ...] = ()

    @property
    def not_by(self) -> tuple[str, ...]:
        """The settings that would not have, each with the reason."""
        return tuple(each.whole for each in self.in_vain)

    def __add__(self, other: "Avoidance") -> "Avoidance":
        return Avoidance(by=self.by + other.by, in_vain=self.in_vain + other.in_vain)


def in_vain(text: str, *, moves: bool = False) -> Avoidance:
    """Return one setting that would not have avoided it."""
    return Avoidance(in_vain=(InVain(text=text, moves=moves),))
