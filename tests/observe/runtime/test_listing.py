"""Listings of a runtime, whole and in parts; `tests/faults/test_large_annotations.py` has a real server."""

from types import SimpleNamespace

import pytest

from evictd.clients.cri.values import CriContainer, CriSandbox
from evictd.core.model.observation import Problem
from evictd.errors import RuntimeResponseTooLargeError, RuntimeUnavailableError
from evictd.observe.runtime.listing import NO_SURROUNDINGS, Listing, read_listing
from tests.observe.runtime_double import container, sandbox

PODS = SimpleNamespace(pod_uids=lambda: ("a", "b"))


class Calls:
    """A runtime whose whole listing may be too large, and which may stop to respond after some calls."""

    def __init__(self, *, large: bool, calls: int = 100) -> None:
        self.large, self.left = large, calls

    def list_sandboxes(self, uid: str = "") -> tuple[CriSandbox, ...]:
        self._respond(large=self.large and not uid)
        return tuple(sandbox(each) for each in ("a", "b") if uid in {"", each})

    def list_containers(self, uid: str = "") -> tuple[CriContainer, ...]:
        self._respond(large=False)
        return tuple(container(f"c-{each}", "main") for each in ("a", "b") if uid in {"", each})

    def _respond(self, *, large: bool) -> None:
        self.left -= 1
        if self.left < 0:
            raise RuntimeUnavailableError("no answer")
        if large:
            raise RuntimeResponseTooLargeError("too large")


@pytest.mark.parametrize("large", [False, True])
def test_parts_give_what_the_whole_gives(large: bool) -> None:
    problems: list[Problem] = []
    steps: list[None] = []
    alive = SimpleNamespace(sign_of_life=lambda: steps.append(None))
    found = read_listing(Calls(large=large), PODS, problems, alive)
    whole = read_listing(Calls(large=False), NO_SURROUNDINGS, [], NO_SURROUNDINGS)
    assert found == Listing(whole.sandboxes, whole.containers, complete=not large)
    assert len(problems) == large
    assert len(steps) == 2


def test_a_runtime_that_stops_responding_between_parts_fails_the_listing() -> None:
    with pytest.raises(RuntimeUnavailableError):
        read_listing(Calls(large=True, calls=3), PODS, [], NO_SURROUNDINGS)
