"""The adversary: no neighbour is evicted for a tenant without hostPath, and the search finds one where a rule is wrong.

`make adversary` searches for as long as asked (docs/security.md has the bound).
"""

from typing import Any

import pytest

from evictd.commands.inputs.source import own_config
from evictd.core.eviction.choice.chooser import StandardChooser
from evictd.core.eviction.refusals import backoff
from evictd.core.eviction.refusals.backoff import HARD_BYPASS, owner_of
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import PodSkipped, SkipReason
from evictd.core.model.pod import Pod
from evictd.core.model.state import Backoff
from evictd.core.units.duration import SECOND
from evictd.world.file import decode_world
from evictd.world.loop import play
from tools.adversary import Cost, Rules, Worst, search
from tools.tenants import NEIGHBOURS, world_document

SEED = 1
MINUTES = 4
MOST_TRIED = 40
"""Of each search in the tests; `make adversary` tries more."""
OWNER_BACKOFF = 10 * SECOND
"""How long a recreated pod was skipped under a hard threshold."""


def not_empty(tried: int, cost: Cost) -> bool:
    """Whether a search goes on: until the node is empty, or for so many tenants."""
    return tried < MOST_TRIED and cost.evicted < NEIGHBOURS


def skipped_with_back_off(known: Backoff, pod: Pod, _config: EvictionConfig, now: int, *, hard: bool) -> Any:
    """Skip as evictd once did: under a hard threshold, too, pods that their owner has recreated."""
    budget = known.budgets.get(pod.uid)
    if budget is not None:
        until = min(budget.until, budget.first_at + HARD_BYPASS) if hard else budget.until
        if now < until:
            return PodSkipped(pod=pod, reason=SkipReason.BUDGET, until=until)
    owner = known.owners.get(owner_of(pod))
    if owner is None or pod.uid in owner.siblings:
        return None
    until = min(owner.until, owner.evicted_at + OWNER_BACKOFF) if hard else owner.until
    return PodSkipped(pod=pod, reason=SkipReason.OWNER, until=until) if now < until else None


def with_owner_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the back-off of owners under hard thresholds back."""
    monkeypatch.setattr(backoff, "_skipped", skipped_with_back_off)
    monkeypatch.setattr(StandardChooser, "_never_smaller", lambda _self, _rows, backed_off: backed_off)


def found(seed: int = SEED) -> Worst:
    """Search for the worst tenant."""
    return search(Rules(minutes=MINUTES), seed, not_empty)


@pytest.mark.slow
def test_no_neighbour_is_evicted_for_a_tenant_without_host_path() -> None:
    """The kernel may kill one where memory is taken faster than a pod can be ended."""
    worst = found()
    assert worst.tried == MOST_TRIED
    assert worst.cost.evicted == 0, world_document(worst.tenant, MINUTES)


@pytest.mark.slow
def test_the_search_finds_the_tenant_that_empties_a_node_by_the_back_off_of_its_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        with_owner_back_off(patched)
        worst = found()
        assert worst.cost.evicted == NEIGHBOURS
        assert any(pod.recreated for pod in worst.tenant)
    assert Rules(minutes=MINUTES).cost_of(worst.tenant).evicted == 0


def test_a_search_is_repeatable_and_its_world_is_a_file() -> None:
    few = [search(Rules(minutes=1), SEED, lambda tried, _: tried < 2) for _ in range(2)]
    assert few[0] == few[1]
    file = decode_world(world_document(few[0].tenant, 1))
    assert play(file.world, own_config(file)).cycles
