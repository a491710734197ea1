"""Declares what a client's test needs of an API server; the double and the real one both provide it.

A test that takes an `Api` (or a rig with `on_any_server`) runs on both; one that needs more, such as faults, takes the
double's `ApiServer`. The types decide, so that mypy shows that a test on both uses nothing that only one of them has.
"""

from pathlib import Path
from typing import Protocol, get_type_hints

import pytest

from tests.kube.admin import Admin
from tests.kube.api_server import Logged
from tests.kube.store import Objects


class Api(Protocol):
    """An API server with node n1."""

    @property
    def store(self) -> Objects: ...

    def kubeconfig(self) -> Path: ...

    def requests(self, what: str = "", *, watches: bool = True) -> list[Logged]: ...

    def forget_requests(self) -> None: ...

    @property
    def client(self) -> Admin:
        """Evictd's user, without evictd's client; its requests are in the log."""
        ...

    def budget(self, name: str, labels: dict[str, str], allowed: int | None) -> None:
        """Set how many disruptions a budget for these labels allows; `None`: its controller has not processed it yet."""
        ...


def on_both(metafunc: pytest.Metafunc) -> None:
    """Run a test on both servers if its types allow it; called by `pytest_generate_tests`."""
    if "api" in metafunc.fixturenames and any(_any_server(hint) for hint in get_type_hints(metafunc.function).values()):
        both = ["double", pytest.param("real", marks=pytest.mark.cluster)]
        metafunc.parametrize("api", both, indirect=True)


def _any_server(hint: object) -> bool:
    return hint is Api or bool(getattr(hint, "on_any_server", False))
