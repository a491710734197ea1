"""Declares the stages of an eviction, its events, and the tables of its transitions.

`pod_eviction` has the theory of operation.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Stage(Enum):
    """The stages of the pod's object."""

    CHOOSING = "Choosing"
    ASKING = "Asking"
    MARKING = "Marking"
    DELETING = "Deleting"
    LEAVING = "Leaving"
    """The object is being deleted, or is gone; the containers may still run."""
    STOPPING = "Stopping"
    """The status is written when nothing runs any more."""
    WRITING = "Writing"
    VERIFYING = "Verifying"
    REFUSED = "Refused"
    """A disruption budget protects the pod and nothing is urgent: it stays."""
    WITHDRAWN = "Withdrawn"
    """Withdrawn before the API server agreed: the pod stays."""
    DONE = "Done"


class Containers(Enum):
    """The stages of the pod's containers."""

    KEPT = "Kept"
    """Left to the kubelet."""
    DUE = "Due"
    """Stopped as soon as the node's conditions are shown, or have been waited for."""
    STOPPING = "Stopping"
    STOPPED = "Stopped"


class Event(Enum):
    """The events of an eviction."""

    ASK = "Ask"
    DELETE = "Delete"
    WRITE = "Write"
    """The method is known: the Eviction API, Delete, Status."""
    ACCEPTED = "Accepted"
    """The API server did what the stage's request asks for."""
    NOT_FOUND = "NotFound"
    """The API server has no such pod (any more)."""
    REFUSED = "Refused"
    """A disruption budget does not allow it, and another pod may be chosen."""
    BYPASS = "Bypass"
    """The wait for a disruption budget is over."""
    UNANSWERED = "Unanswered"
    """The wait for the Eviction API is over."""
    FORBIDDEN = "Forbidden"
    """The request was refused for good."""
    WITHDRAWN = "Withdrawn"
    """The eviction is not wanted any more. It changes only an eviction that is not certain."""
    SHORTENED = "Shortened"
    """A hard threshold shortens the grace period."""
    CLEARED = "Cleared"
    """The node's conditions are shown, or the wait for that is over: the containers may be stopped."""
    STOPPED = "Stopped"
    """The pod has no running process left."""
    RESTARTED = "Restarted"
    """The pod was started again, and is chosen again."""
    REVIVED = "Revived"
    """The status that was written was overwritten: a kubelet started the pod again."""
    RESISTED = "Resisted"
    """The written status was overwritten more often than `REPAIRS`."""
    ENDED = "Ended"
    """The API server shows no such pod, or its phase as final; of a written status, for as long as it had to be watched."""


class Request(Enum):
    """The requests of the state machine to its owner."""

    EVICT = "Evict"
    MARK = "Mark"
    """Set the DisruptionTarget condition."""
    DELETE = "Delete"
    WRITE = "Write"
    """Write the status of an evicted pod."""
    ANNOUNCE = "Announce"
    """Record the Evicted event and count the eviction: it is certain."""
    STOP = "Stop"
    """Stop the containers, or shorten their grace."""
    STOP_AGAIN = "StopAgain"
    """Stop the containers, which had stopped and were started again."""


class Stop(Enum):
    """Whether a transition makes the containers due to be stopped."""

    NO = "No"
    IF_OURS = "IfOurs"
    """The containers are stopped by evictd: the eviction is hard, or no kubelet stops them."""
    YES = "Yes"


class To(NamedTuple):
    """The target of a transition of the object."""

    stage: Stage
    stop: Stop = Stop.NO


REQUEST_OF: Mapping[Stage, Request] = {
    Stage.ASKING: Request.EVICT,
    Stage.MARKING: Request.MARK,
    Stage.DELETING: Request.DELETE,
    Stage.WRITING: Request.WRITE,
}
SETTLED = frozenset({Stage.REFUSED, Stage.WITHDRAWN, Stage.DONE})
UNCERTAIN = frozenset({Stage.ASKING, Stage.REFUSED, Stage.WITHDRAWN})
"""Stages in which the API server has not agreed that the pod goes."""

OBJECT: Mapping[tuple[Stage, Event], To] = {
    (Stage.CHOOSING, Event.ASK): To(Stage.ASKING),
    (Stage.CHOOSING, Event.DELETE): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.CHOOSING, Event.WRITE): To(Stage.STOPPING, Stop.YES),
    (Stage.CHOOSING, Event.WITHDRAWN): To(Stage.WITHDRAWN),
    (Stage.CHOOSING, Event.SHORTENED): To(Stage.CHOOSING, Stop.YES),
    (Stage.ASKING, Event.ACCEPTED): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.ASKING, Event.NOT_FOUND): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.ASKING, Event.REFUSED): To(Stage.REFUSED),
    (Stage.ASKING, Event.BYPASS): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.ASKING, Event.UNANSWERED): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.ASKING, Event.FORBIDDEN): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.ASKING, Event.WITHDRAWN): To(Stage.WITHDRAWN),
    (Stage.ASKING, Event.SHORTENED): To(Stage.DELETING, Stop.YES),
    (Stage.MARKING, Event.ACCEPTED): To(Stage.DELETING),
    (Stage.MARKING, Event.NOT_FOUND): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.MARKING, Event.FORBIDDEN): To(Stage.DELETING),
    (Stage.MARKING, Event.WITHDRAWN): To(Stage.WITHDRAWN),
    (Stage.MARKING, Event.SHORTENED): To(Stage.MARKING, Stop.YES),
    (Stage.DELETING, Event.ACCEPTED): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.DELETING, Event.NOT_FOUND): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.DELETING, Event.FORBIDDEN): To(Stage.STOPPING, Stop.YES),
    (Stage.DELETING, Event.SHORTENED): To(Stage.DELETING, Stop.YES),
    (Stage.LEAVING, Event.ENDED): To(Stage.DONE),
    (Stage.LEAVING, Event.SHORTENED): To(Stage.DELETING, Stop.YES),
    (Stage.WRITING, Event.ACCEPTED): To(Stage.VERIFYING),
    (Stage.WRITING, Event.NOT_FOUND): To(Stage.LEAVING),
    (Stage.WRITING, Event.FORBIDDEN): To(Stage.DONE),
    (Stage.VERIFYING, Event.REVIVED): To(Stage.STOPPING),
    (Stage.VERIFYING, Event.RESISTED): To(Stage.MARKING),
    (Stage.VERIFYING, Event.ENDED): To(Stage.DONE),
}

CONTAINERS: Mapping[tuple[Containers, Event], tuple[Containers, Request | None]] = {
    # The Eviction API is asked first, also by a hard eviction.
    (Containers.DUE, Event.ASK): (Containers.KEPT, None),
    (Containers.DUE, Event.CLEARED): (Containers.STOPPING, Request.STOP),
    (Containers.STOPPING, Event.SHORTENED): (Containers.STOPPING, Request.STOP),
    (Containers.STOPPING, Event.STOPPED): (Containers.STOPPED, None),
    (Containers.STOPPED, Event.RESTARTED): (Containers.STOPPING, Request.STOP_AGAIN),
    (Containers.STOPPED, Event.REVIVED): (Containers.STOPPING, Request.STOP_AGAIN),
    (Containers.STOPPED, Event.RESISTED): (Containers.STOPPING, Request.STOP_AGAIN),
}

JOINT: Mapping[tuple[Stage, Containers], Stage] = {
    (Stage.STOPPING, Containers.STOPPED): Stage.WRITING,
    # Nothing is written while anything runs: the pod was started again.
    (Stage.WRITING, Containers.STOPPING): Stage.STOPPING,
    (Stage.LEAVING, Containers.STOPPED): Stage.DONE,
}
"""Transitions that follow from both states together."""
