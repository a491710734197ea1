"""Law Consent: an eviction that needs the API server's agreement is a proposal until it is accepted (policy Standard).

While the answer is late the proposal holds up further choices for its supply (`ledger`): ten minutes without an API server must
not choose one more pod each minute, and evict them all when it is back. A proposal whose supply is clear meanwhile is withdrawn.
The victim stays in the ledger until the answer to that: the pod may have been evicted at the same moment.
"""

from dataclasses import replace

from evictd.core.eviction.draft import Draft
from evictd.core.eviction.ledger import is_proposal
from evictd.core.model.decision import WithdrawEviction
from evictd.core.model.observation import Observation
from evictd.core.model.state import State


def withdraw_proposals(draft: Draft, state: State, observation: Observation) -> State:
    """Withdraw each eviction that is not accepted yet and whose supply is clear; return the new state."""
    if not state.in_flight:
        return state
    pods = {pod.uid: pod for pod in observation.pods}
    ended = {
        victim.uid
        for victim in state.in_flight
        if is_proposal(victim, observation.outcomes) and victim.cause in state.clear_since and not victim.withdrawn
    } & pods.keys()
    if not ended:
        return state
    draft.decisions.extend(WithdrawEviction(pod=pods[uid], reason="pressure has ended") for uid in sorted(ended))
    marked = tuple(replace(each, withdrawn=True) if each.uid in ended else each for each in state.in_flight)
    return replace(state, in_flight=marked)
