"""The API server: the double, or the double and the real one (`tests.kube.api`)."""

from tests.kube.api import on_both as pytest_generate_tests
from tests.kube.fixtures import api, transport

__all__ = ["api", "pytest_generate_tests", "transport"]
