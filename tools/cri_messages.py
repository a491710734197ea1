"""Writes src/evictd/clients/cri/api.binpb, the compiled proto of CRI, from its package: `python -m tools.cri_messages`."""

from pathlib import Path

from cri_api.v1 import api_pb2

MESSAGES = Path(__file__).parents[1] / "src/evictd/clients/cri/api.binpb"


def published() -> bytes:
    """Return the compiled proto as protoc serialized it."""
    serialized: bytes = api_pb2.DESCRIPTOR.serialized_pb
    return serialized


if __name__ == "__main__":
    MESSAGES.write_bytes(published())
