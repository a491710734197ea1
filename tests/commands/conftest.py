"""The API server double, for commands that reach one; and no daemon of this machine, which the tests have not started."""

from collections.abc import Mapping
from typing import Any

import pytest

from evictd.commands import explain, status, why
from evictd.commands.inputs import journals
from evictd.errors import NodeError
from tests.kube.fixtures import api, transport

__all__ = ["api", "transport"]


@pytest.fixture(autouse=True)
def no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask no evictd that runs on this machine at the default address: its configuration and journal are not a test's."""
    real = status.fetch

    def fetch(address: str, path: str = "/statusz") -> Mapping[str, Any]:
        if address == status.DEFAULT_ADDRESS:
            raise NodeError(f"no evictd answers at {address}: not asked in tests; is `evictd run` running?")
        return real(address, path)

    for module in (explain, journals, status, why):
        monkeypatch.setattr(module, "fetch", fetch)
