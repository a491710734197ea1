"""The fixtures of this folder."""

from tests.cluster.fixtures import image_archive, image_node, real_transport

__all__ = ["image_archive", "image_node", "real_transport"]
