"""Says how many pods of one owner were on a node and how many fit, and which request places no more there."""

from typing import NamedTuple

from evictd.core.model.signal import Resource
from evictd.render.text import amount_text, enough_text, first_of

_PLACES = "the scheduler places"
_NAMED = 3


class Overcommit(NamedTuple):
    """How many pods of one owner were here and how many fit, and the request with which no more are placed here."""

    owner: str
    pods: int
    most: int
    """What the largest of them used."""
    fit: int
    request: int
    """0 where the memory of the node is not known."""
    beside: tuple[str, ...] = ()
    """Other owners, or pods without one, that use much more than they request: they have to request that as well."""
    placed: int = 0
    """How many are placed with a tenth more than the largest uses, where these are too many."""

    @property
    def cause(self) -> str:
        """How many were here and how many fit, as a clause."""
        most = amount_text(self.most, Resource.MEMORY)
        return f"the {self.pods} pods of {self.owner} here used up to {most} each, and no more than {self.fit} of that size fit"

    @property
    def remedy(self) -> str:
        """The request in all of them, and what the scheduler does then."""
        if not self.request:
            return (
                f"a request of a little more memory than each uses in all pods of {self.owner}: "
                f"with it {_PLACES} fewer of them here"
            )
        asked = f"a request of {enough_text(self.request, Resource.MEMORY)} of memory in all pods of {self.owner}"
        if self.beside:
            asked += f", and of what is used in {first_of(self.beside, _NAMED)}, where too little is requested as well"
        if self.placed:
            most = amount_text(self.most, Resource.MEMORY)
            asked += f" (with the {most} that each uses and a tenth more, {self.placed} would be placed)"
        fewer = f"with both {_PLACES} no more than {self.fit} pods of {self.owner} here"
        return f"{asked}: {fewer if self.beside else f'with it {_PLACES} no more than {self.fit} of them here'}"
