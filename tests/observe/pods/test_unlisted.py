"""A kubelet's pods that run here and are not listed: which of them count, and how they are named."""

from dataclasses import replace

import pytest

from evictd.core.model.pod import Pod
from evictd.observe.pods.unlisted import SETTLED, settled_pods, unlisted_problems
from tests.observe.runtime_double import sandbox, view

WALL = 1_700_000_000 * 10**9
OF_API = {"kubernetes.io/config.source": "api"}
POD = Pod(name="web", namespace="ns", uid="u")


@pytest.mark.parametrize(
    ("age", "annotations", "counts"),
    [
        (SETTLED + 1, OF_API, True),
        (SETTLED, OF_API, False),
        (SETTLED + 1, {"kubernetes.io/config.source": "file"}, False),
        (SETTLED + 1, {}, False),
    ],
    ids=["settled", "new", "static", "of another creator"],
)
def test_which_pods_count(age: int, annotations: dict[str, str], counts: bool) -> None:
    row = replace(sandbox("u"), annotations=annotations, created_at=WALL - age)
    listing = replace(view(), sandboxes=(row,), wall=WALL)
    assert settled_pods([POD, replace(POD, uid="v")], listing) == ((POD,) if counts else ())
    assert settled_pods([POD], replace(listing, wall=None)) == ()


def test_five_are_named() -> None:
    """One problem, however many there are."""
    assert unlisted_problems(()) == ()
    (problem,) = unlisted_problems([replace(POD, name=f"p{number}") for number in range(7)])
    assert problem.source == "apiserver/pods"
    assert problem.detail.endswith(": ns/p0, ns/p1, ns/p2, ns/p3, ns/p4 and 2 more")
