"""The fixtures of this folder."""

from tests.cluster.fixtures import image_node, real_transport

__all__ = ["image_node", "real_transport"]
