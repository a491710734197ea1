"""Provides nodes that run CRI-O; without its programs the tests are skipped with instructions."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from evictd_testnode.node import DisposableNode, NodeRecipe
from tests.conftest import NodeFactory
from tests.crio.runtime import PrivateCrio, reason_against


@pytest.fixture
def make_node(request: pytest.FixtureRequest) -> Iterator[NodeFactory]:
    """Make nodes for one test, with images and writable layers in one store unless `runtime` says otherwise."""
    binaries = request.getfixturevalue("binaries")
    if reason := reason_against():
        pytest.skip(reason)
    with ExitStack() as stack:

        def make(**fields: object) -> DisposableNode:
            recipe = NodeRecipe(**{"binaries": binaries, "runtime": PrivateCrio, **fields})
            return stack.enter_context(DisposableNode(recipe))

        yield make
