"""Says whether an eviction was needed, to an observer who sees what is there go on growing as it did in the minute before.

Pods that would have come are not known to that observer: where only those that came filled the node, nothing grows on.

`evictd.world.oracle` finds the fewest pods whose end relieves the node; this module writes what that means for the evicted pod.
"""

from collections.abc import Collection
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.units.duration import MINUTE, SECOND, format_duration

_NOT_NEEDED = "its end was not needed: "
"""How a verdict begins that says so."""
UNKNOWN_NEED = "whether its end was needed is not known: "
"""How it begins where that is not known."""
_MUCH_MORE = 2
"""By how many times the growth of a pod has to exceed that of another one, or of the fastest in the minute, to be the cause."""
_RELIEVED, _CLEARED = "relieved the node", "cleared the threshold, but not its minimum reclaim"
_AN_END = "the end of a pod was needed"
_ANY_POD, _POD_ALONE = "no end of any pod", "no end of a pod alone"


class Need(Enum):
    """What the end of the pod was needed for."""

    NEEDED = "Needed"
    """It is one of the fewest pods whose end relieves the node."""
    ANOTHER_POD = "AnotherPod"
    """The fewest pods whose end relieves the node are others."""
    NOTHING_SHORT = "NothingShort"
    """No threshold would have been met."""
    NO_POD_HELPS = "NoPodHelps"
    """No end of any pod relieves the node."""
    FOR_A_TIME = "ForATime"
    """What fills it belongs to no pod: if that goes on, the node is short again after the end of a pod."""


class NotJudged(Enum):
    """Why it is not known whether the end of the pod was needed."""

    UNREADABLE = "Unreadable"
    """The record of the cycle is damaged or missing."""
    NOT_KEPT = "NotKept"
    """The journal came on standard input, of which no line is kept."""
    UNMEASURED = "Unmeasured"
    """Pods may have taken most of what filled the supply since they were read."""
    NO_HOLDINGS = "NoHoldings"
    """The record does not have who held what was short."""


@frozen
class Grower:
    """A pod, or what belongs to no pod, that grew in the minute before an eviction."""

    pod: str
    """`namespace/name`; empty for what belongs to no pod."""
    rate: int
    """Units of the signal per second."""
    grown: int | None = None
    """Its growth since the oldest record of the hour before the eviction; `None` where that is not known."""
    over: int = 0
    """How many nanoseconds before the eviction that was."""
    owner: str = ""
    """`Kind/name` of the pod's owner."""

    @property
    def name(self) -> str:
        """The pod with its owner, in words."""
        pod = self.pod or "what belongs to no pod"
        return f"{pod} of {self.owner}" if self.owner else pod


@frozen
class EvictionVerdict:
    """Whether the end of a pod was needed, and the fewest pods whose end relieves the node."""

    need: Need
    pod: str
    """`namespace/name` of the evicted pod."""
    fewest: tuple[str, ...] = ()
    """`namespace/name` of each; empty where no pod helps or none is needed."""
    growers: tuple[Grower, ...] = ()
    """The fastest first."""
    played: int
    """For how many nanoseconds the node was played on."""
    measured_over: int = MINUTE
    """For how many nanoseconds before the eviction growth was measured: about a minute, or since the pods were first measured."""

    @property
    def before(self) -> str:
        """The time in which growth was measured: `the minute before`, or a shorter one."""
        seconds = max(round(self.measured_over / SECOND), 1)
        return "the minute before" if self.measured_over >= MINUTE // 2 else f"the {seconds} s before"

    @property
    def may_have_grown(self) -> bool:
        """Whether the evicted pod grew, or what was measured does not explain the shortage."""
        return self.need is Need.NO_POD_HELPS or any(each.pod == self.pod for each in self.growers)

    @property
    def notable(self) -> tuple[Grower, ...]:
        """What made a tenth of all growth, or grew half as fast as the fastest: of many alike none makes a tenth."""
        rates = [each.rate for each in self.growers]
        return tuple(each for each in self.growers if is_notable(each.rate, rates))

    @property
    def grew(self) -> bool:
        """Whether the evicted pod grew notably."""
        return any(each.pod == self.pod for each in self.notable)

    def rate_of(self, pod: str) -> int:
        """Return by how much a second a pod grew; 0 if it did not."""
        return next((each.rate for each in self.growers if each.pod == pod), 0)

    @property
    def grower(self) -> Grower | None:
        """What made more than half of all growth; `None` where nothing did."""
        first = next(iter(self.growers), None)
        return first if first is not None and first.rate * 2 > sum(each.rate for each in self.growers) else None

    @property
    def brought_forward_by(self) -> Grower | None:
        """What made most of the growth of the last minute, where the evicted pod had grown much more before and grew on.

        Without it the evicted pod would have filled the node a little later.
        """
        own, main = next((each for each in self.growers if each.pod == self.pod), None), self.grower
        if not self.grew or own is None or main is None or main is own or own.grown is None or main.grown is None:
            return None
        return main if own.grown > _MUCH_MORE * max(main.grown, 0) else None

    @property
    def causes(self) -> frozenset[str]:
        """The pods that made the node short: those that grew, but for those much slower than what made most of the growth."""
        main = None if self.brought_forward_by is not None else self.grower
        least = 0 if main is None or not main.pod else main.rate
        return frozenset(each.pod for each in self.growers if each.pod and each.rate * _MUCH_MORE >= least)

    @property
    def grower_suffices(self) -> bool:
        """Whether the evicted pod is no cause, and the end of the one that made most of the growth would have done."""
        another = self.need is Need.ANOTHER_POD and self.pod not in self.causes
        return another and self.grower is not None and self.fewest == (self.grower.pod,)

    @property
    def _premise(self) -> str:
        """What was played: each pod that was there, and the host, grew on or stayed as it was."""
        played = format_duration(self.played)
        if not self.growers:
            return f"if nothing had grown for {played} and no other pod had come"
        return f"if growth had gone on for {played} as in {self.before}"

    @property
    def nothing_short(self) -> str:
        """That no threshold would have been met, as a clause."""
        return f"{self._premise}, no threshold would have been met"

    @property
    def only_larger(self) -> bool:
        """Whether it grew and others would do because they hold more: none of these grew, so its end was no mistake."""
        still = bool(self.fewest) and not any(map(self.rate_of, self.fewest))
        return self.need is Need.ANOTHER_POD and self.grew and still

    @property
    def _compared(self) -> str:
        """What tells a reader not to end pods of the fewest that did not grow while others did."""
        still = [each for each in self.fewest if not self.rate_of(each) and each != self.pod]
        return f" (a comparison, not advice: {', '.join(still)} did not grow)" if still and self.growers else ""

    def text(
        self,
        *,
        relieved: bool = False,
        too_little: bool = False,
        filled: bool = False,
        cause: str = "the host",
        for_reclaim: bool = False,
        files_stay: bool = False,
        for_soft: bool = False,
    ) -> str:
        """Write the verdict as a sentence without a full stop, beside what the journal shows of the time after.

        `relieved`: its end relieved the node. `too_little`: less than was missing came back. `filled`: something filled what is
        short before, also if nothing grew in the last minute, as on a full disk. `cause`: what holds it beside pods that may go.
        `for_reclaim`: more pods went for the minimum reclaim. `files_stay`: those in a hostPath volume, if not deleted too.
        `for_soft`: no hard threshold was met.
        """
        grown, relief = self._premise, _CLEARED if for_reclaim else _RELIEVED
        no_end = f"{_POD_ALONE if files_stay else _ANY_POD} would have {relief}"
        needed = "its end was needed" + (" for the soft threshold" if for_soft else "")
        names, compared = ", ".join(self.fewest), self._compared
        match self.need:
            case Need.NEEDED:
                return self._of_needed(needed, relief, relieved=relieved, too_little=too_little)
            case Need.ANOTHER_POD if relieved:
                return f"{_AN_END}, and its own {relief}; that of {names} in its place would have relieved it as well{compared}"
            case Need.ANOTHER_POD if self.only_larger:
                return (
                    f"{_AN_END}: {grown}, its own alone would not have {relief}; that of {names} would have{compared}"
                )
            case Need.ANOTHER_POD:
                return f"{_NOT_NEEDED}{grown}, the end of {names} in its place would have {relief}{compared}"
            case Need.NOTHING_SHORT:
                return f"{_NOT_NEEDED}{self.nothing_short}"
            case Need.FOR_A_TIME:
                return f"{_AN_END}: {cause} filled it, and if that goes on, the node is short again"
            case Need.NO_POD_HELPS if relieved:
                grown = "by what was measured" if not self.growers else grown
                return f"{UNKNOWN_NEED}it {relief}; {grown}, {_POD_ALONE if files_stay else _ANY_POD} would have"
            case Need.NO_POD_HELPS:
                return self._of_no_pod(no_end, cause, filled=filled, files_stay=files_stay)

    def _of_needed(self, needed: str, relief: str, *, relieved: bool, too_little: bool) -> str:
        """Write that its end was needed; where it relieved the node, what was foreseen beside that did not come."""
        grown = self._premise
        if self.fewest in {(), (self.pod,)}:
            if too_little and not relieved:
                return f"{UNKNOWN_NEED}by what was measured it alone would have {relief}, and it did not"
            did = ", and it did" if relieved else ""
            return f"{needed}: {grown}, its end alone would have {relief}{did}"
        its_own = f"; its own {relief}" if relieved else ""
        fewest = f"the fewest pods whose end relieves the node are {', '.join(self.fewest)}"
        return f"{needed}: {grown}, {fewest}{its_own}{self._compared}"

    def _of_no_pod(self, no_end: str, cause: str, *, filled: bool, files_stay: bool) -> str:
        """Write that no end of a pod helps; one may, beside that of a pod that writes what is not measured."""
        if not self.growers:
            why = f"; {cause} is the cause" if filled else ", and nothing grew; the threshold is above its normal level"
            return f"{_NOT_NEEDED}{no_end}{why}"
        verdict = f"{_NOT_NEEDED}{self._premise}, {no_end}"
        if not files_stay:
            return f"{verdict}; {cause} is the cause"
        unknown = "together with the end of a pod that fills a hostPath volume, which is not measured"
        return f"by what was measured {verdict}; {unknown}, it may have been needed"


def is_notable(growth: int, growths: Collection[int]) -> bool:
    """Whether one of these growths is a tenth of all, or half of the largest: of many alike none is a tenth."""
    return growth * 10 >= min(sum(growths), 5 * max(growths, default=0))
