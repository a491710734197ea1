"""How a pod is ended in a cluster, and what a refusal by a disruption budget leads to.

The pod is chosen before. The evictor (`act.cluster`) asks here which of three methods to use; that depends on how urgent the
eviction is and on whether a kubelet runs the pod. Times are nanoseconds.
"""

from enum import Enum

from evictd.core.eviction.refusals.backoff import HARD_BYPASS
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictPod


class RefusalResponse(Enum):
    """The reaction to the refusal of a PodDisruptionBudget."""

    NEXT_CANDIDATE = "NextCandidate"
    """The pod stays; another one is chosen."""
    ASK_AGAIN = "AskAgain"
    BYPASS = "Bypass"
    """Delete it: the wait is over."""


def is_hard(decision: EvictPod) -> bool:
    """Whether the eviction may not wait: a hard threshold, or a pod over its own local-storage limit."""
    threshold = decision.because.threshold
    return threshold is None or threshold.hard


def choose_eviction_method(asked: EvictionMethod, *, hard: bool, kubelet: bool) -> EvictionMethod:
    """Choose one of the three methods; without a kubelet only `Status` ends a pod by itself."""
    if asked is not EvictionMethod.AUTO:
        return asked
    if not kubelet:
        return EvictionMethod.STATUS
    return EvictionMethod.DELETE if hard else EvictionMethod.EVICTION_API


def refusal_response(asked: EvictionMethod, *, hard: bool, waited: int, eviction_timeout: int) -> RefusalResponse:
    """Return the reaction to a 429 that came `waited` nanoseconds after this pod's first one.

    Hard: a bounded wait, then past the budget. Soft: another pod; past the budget only under `Auto`, after
    `eviction_timeout`, and never where the administrator asked for the Eviction API by name.
    """
    if hard:
        return RefusalResponse.BYPASS if waited >= HARD_BYPASS else RefusalResponse.ASK_AGAIN
    if asked is EvictionMethod.AUTO and waited >= eviction_timeout:
        return RefusalResponse.BYPASS
    return RefusalResponse.NEXT_CANDIDATE


def forbidden_stays(asked: EvictionMethod, *, hard: bool) -> bool:
    """Whether a pod stays whose eviction the API server refuses for good (403, an admission webhook's no).

    True for a soft threshold where the administrator asked for the Eviction API by name; otherwise the pod is deleted.
    """
    return asked is EvictionMethod.EVICTION_API and not hard
