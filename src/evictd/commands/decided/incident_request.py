"""Decides the cycle of an eviction again with other requests: which pod would have gone.

The request is changed in the recorded reading, and everything else stays as it was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.codec.records.journal import JournalEntry
from evictd.core.eviction.refusals.backoff import owner_of
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.resources import EPHEMERAL_STORAGE, MEMORY
from evictd.core.model.signal import Resource
from evictd.core.model.state import Reclaiming, State, with_fields
from evictd.core.units.quantity import NANO, ZERO, Quantity, of_bytes
from evictd.errors import EvictdError
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict
from evictd.render.text import clean

DAMAGED = (EvictdError, ArithmeticError, LookupError, ValueError)
"""What a damaged record raises: of it nothing is known."""
_REQUESTS: Mapping[Resource | None, str] = {Resource.MEMORY: MEMORY, Resource.EPHEMERAL_STORAGE: EPHEMERAL_STORAGE}
"""By resource the name under which a container requests it."""


def with_request(entry: JournalEntry, found: Incident, grown: int = 0, *, of_owner: bool = False) -> str | None:
    """Decide the cycle again with a request of what the pod used; return the pod that goes, "" for none, `None` if unknown.

    With `grown` the pod has grown past that request by so much. `of_owner`: all pods of its owner request what they used.
    The request is that of the owner's template, so earlier evictions of its pods, which had it as well, hold none back now.
    A smaller pod that exceeds its request does not go in the place of one that alone holds what is missing.
    """
    victim, signal, name = found.victim, found.signal, _REQUESTS.get(found.resource)
    if victim is None or victim.usage is None or signal is None or name is None or victim.usage <= victim.request:
        return None
    raised = {found.event.pod, *(found.siblings if of_owner else ())}
    more = {
        row.pod: of_bytes(max((row.usage or 0) - grown - row.request, 0)) for row in found.ranking if row.pod in raised
    }

    def asking(seen: Observation) -> Observation:
        named = ((pod, more.get(clean(pod.full_name))) for pod in seen.pods)
        return replace(seen, pods=tuple(pod if by is None else _requesting(pod, name, by) for pod, by in named))

    observation = asking(entry.observation)
    try:
        state = _without_effects(entry.state, observation.pods, found.event.uid)
        if isinstance(phase := state.phase, Reclaiming):  # policy Kubelet evicts on the reading before the reclaim
            state = with_fields(state, phase=replace(phase, before=asking(phase.before)))
        step = synchronize(state, observation, entry.config, entry.now)
    except DAMAGED:
        return None
    evictions = (each for each in step.decisions if isinstance(each, EvictPod))
    # A pod that exceeds a limit of its own goes in the same cycle, whatever is requested.
    return next((clean(each.pod.full_name) for each in evictions if each.because.signal_label == signal.value), "")


def _without_effects(state: State, pods: Iterable[Pod], uid: str) -> State:
    """Return the state without what came of earlier evictions of the same owner's pods, and without the pauses for these."""
    owner = next((owner_of(pod) for pod in pods if pod.uid == uid), "")
    others = {signal: tuple(each for each in found if each.owner != owner) for signal, found in state.effects.items()}
    changed = {signal for signal, found in state.effects.items() if owner and len(others[signal]) < len(found)}
    if not changed:
        return state
    pauses = {signal: pause for signal, pause in state.pauses.items() if signal not in changed}
    return with_fields(state, effects=others, pauses=pauses)


def goes_past_request(entry: JournalEntry, found: Incident, verdict: EvictionVerdict | None) -> bool:
    """Whether the pod would have gone when it had grown for one second more than a request of what it used."""
    grown = 0 if verdict is None else verdict.rate_of(found.event.pod)
    return grown > 0 and with_request(entry, found, grown) == found.event.pod


def asked_request(entry: JournalEntry, found: Incident) -> int:
    """Return the memory request of a resize of the pod that was not granted; 0 without one."""
    pod = next((each for each in entry.observation.pods if each.uid == found.event.uid), None)
    if found.resource is not Resource.MEMORY or pod is None or not any(MEMORY in each.asked for each in pod.containers):
        return 0
    asking = (replace(each, requests={**each.requests, **each.asked}) for each in pod.containers)
    return replace(pod, containers=tuple(asking)).resource_totals.memory_request // NANO


def _requesting(pod: Pod, name: str, more: Quantity) -> Pod:
    """Return the pod with so much more requested by its first container."""
    if not pod.containers:
        return pod
    first, *others = pod.containers
    requests = {**first.requests, name: first.requests.get(name, ZERO) + more}
    return replace(pod, containers=(replace(first, requests=requests), *others))
