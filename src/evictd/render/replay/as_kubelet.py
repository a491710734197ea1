"""Says of a journal that is decided again by policy Kubelet where a kubelet would act otherwise."""

from collections.abc import Sequence

from evictd.core.model.config import Policy
from evictd.core.units.duration import SECOND
from evictd.render.kubelet_caveats import KUBELET_PERIOD, kubelet_caveats
from evictd.render.replay.refusals import RecordedRefusals
from evictd.render.replay.replayed import Replayed, ignores_refusals, recorded_victims, then_and_now
from evictd.render.replay.shown_evictions import shown_evictions
from evictd.render.text import clean

_LATE = SECOND
"""How much a cycle of each `KUBELET_PERIOD` may come too early: a journal of these alone gets no caveat."""


def kubelet_texts(replayed: Sequence[Replayed]) -> tuple[str, ...]:
    """Return the caveats of policy Kubelet; nothing by another policy, or where no reading is closer than a kubelet's."""
    by_kubelet = [one for one in replayed if one.policy is Policy.KUBELET]
    return tuple(kubelet_caveats(looks_sooner=any(map(_is_closer, by_kubelet)), asks_budgets=False))


def _is_closer(one: Replayed) -> bool:
    """Whether this reading is; one that an outcome of an eviction asked for is no sign of a watch."""
    last, outcomes = one.entry.state.last_cycle_at, one.entry.observation.outcomes
    asked = outcomes.cleaned_up or outcomes.stopped or outcomes.answers
    return not asked and last is not None and 0 < one.entry.now - last < KUBELET_PERIOD - _LATE


def unrefused_text(replayed: Sequence[Replayed], known: RecordedRefusals) -> str:
    """Return that a kubelet would have evicted the pod that the API server refused; empty by another policy, or without one."""
    if not ignores_refusals(replayed, known):
        return ""
    names = {clean(pod) for pod in known.refused.values()}
    evictions = shown_evictions(then_and_now(replayed, known))
    for one, shown in zip(replayed, evictions, strict=True):
        if found := [pod for pod in recorded_victims(shown) if pod in names]:
            return (
                f"A kubelet, which ignores disruption budgets (docs/parity.md), would have evicted {found[0]}, by the readings "
                f"of {clean(one.entry.wall)}."
            )
    return "A kubelet ignores disruption budgets (docs/parity.md), so none keeps these pods."
