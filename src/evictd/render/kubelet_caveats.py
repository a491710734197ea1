"""Says in what policy Kubelet differs from a kubelet, of a played world and of a journal that is decided again."""

from collections.abc import Iterator

KUBELET_PERIOD = 10 * 10**9
"""How often a kubelet looks, in nanoseconds (its `monitoringInterval`)."""


def kubelet_caveats(*, looks_sooner: bool, asks_budgets: bool) -> Iterator[str]:
    """Yield in what policy Kubelet differs: it looks more often than a kubelet, and it asks disruption budgets."""
    if looks_sooner:
        yield (
            "Policy Kubelet decides as a kubelet does, but as soon as a threshold is crossed; a kubelet looks every 10 s only, "
            "so on fast growth it acts later. `watch: false` in a world shows that, of each policy."
        )
    if asks_budgets:
        yield "A kubelet ignores disruption budgets (docs/parity.md); under policy Kubelet, too, a soft threshold asks them."
