"""What every check inside the machine may ask for; outside of it all of them are skipped."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _inside_the_machine() -> None:
    if os.environ.get("EVICTD_VM") != "1":
        pytest.skip("runs inside the test machine: make test-vm")
