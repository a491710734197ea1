"""Finds the pods of a journal that a user may mean by a name: without a namespace, that of an owner, or misspelt."""

from collections.abc import Iterable

from evictd.codec.records.journal_record import JournalRecord
from evictd.errors import most_similar
from evictd.render.text import clean

_SIMILAR = 0.8
"""From which similarity on a pod is named that may have been meant, from 0 to 1: the names of one namespace are alike."""
_NAMED = 3
"""How many pods are named at most."""


def pods_of(records: Iterable[JournalRecord]) -> frozenset[str]:
    """Return the active pods of a journal, by `namespace/name`."""
    return frozenset(clean(pod.full_name) for record in records for pod in record.observation.pods)


def pods_meant(name: str, pods: Iterable[str]) -> str:
    """Return the question that names the pods that `name` may stand for, and "" where there are none.

    `name` may lack the namespace, may be that of an owner, such as a Deployment, or be misspelt. `pods` are `namespace/name`.
    """
    names = {pod: pod if "/" in name else pod.partition("/")[2] for pod in sorted(pods)}
    found = [pod for pod, known in names.items() if known == name]
    found = found or [pod for pod, known in names.items() if known.startswith(f"{name}-")]
    if not found:
        near = most_similar(name, names.values(), similarity=_SIMILAR)
        found = [pod for pod, known in names.items() if known == near]
    return f"did you mean {' or '.join(found[:_NAMED])}?" if found else ""
