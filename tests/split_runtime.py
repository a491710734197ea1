"""Provides the split layout: a proxy before a real containerd that reports images and writable layers as separate filesystems.

It forwards every call unchanged except ImageFsInfo: images are the content of the node's `content_disk`, containers are the
snapshots in containerd's root, as CRI-O reports it. Both are real: removing an image frees bytes
on the one, a container's writing fills the other.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from cri_api.v1 import api_pb2 as pb

from evictd_testnode.node import DisposableNode
from tests.faults.cri_server import Answer

SERVICES = ("RuntimeService", "ImageService")


@contextmanager
def split_runtime(node: DisposableNode) -> Iterator[str]:
    """Run the proxy before this node's containerd and give its endpoint. Streams are not forwarded."""
    socket = node.folder / "runtime/split.sock"
    server = grpc.server(ThreadPoolExecutor(8))
    with grpc.insecure_channel(node.endpoint) as channel:
        for service in SERVICES:
            methods = {
                name: grpc.unary_unary_rpc_method_handler(_answer(node, channel, service, name))
                for name in _names(service)
            }
            handler = grpc.method_handlers_generic_handler(f"runtime.v1.{service}", methods)
            server.add_generic_rpc_handlers((handler,))
        server.add_insecure_port(f"unix://{socket}")
        server.start()
        try:
            yield f"unix://{socket}"
        finally:
            server.stop(0).wait(10)


def _names(service: str) -> list[str]:
    methods = pb.DESCRIPTOR.services_by_name[service].methods
    return [method.name for method in methods if not method.server_streaming]


def _answer(node: DisposableNode, channel: grpc.Channel, service: str, name: str) -> Answer:
    pass_on = channel.unary_unary(f"/runtime.v1.{service}/{name}", None, None)

    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            given: bytes = pass_on(request, timeout=context.time_remaining())
        except grpc.RpcError as error:
            failed: Any = error  # a grpc.Call as well, which the types cannot say
            context.abort(failed.code(), failed.details())
            raise AssertionError from error  # abort raises
        return _split(node, given) if name == "ImageFsInfo" else given

    return answer


def _split(node: DisposableNode, given: bytes) -> bytes:
    known = pb.ImageFsInfoResponse.FromString(given).image_filesystems[0]
    images = pb.FilesystemUsage(
        timestamp=known.timestamp,
        fs_id=pb.FilesystemIdentifier(mountpoint=str(node.content_folder)),
        used_bytes=pb.UInt64Value(value=_used_bytes(node.content_folder)),
        inodes_used=pb.UInt64Value(value=sum(len(files) for _, _, files in os.walk(node.content_folder))),
    )
    return pb.ImageFsInfoResponse(image_filesystems=[images], container_filesystems=[known]).SerializeToString()


def _used_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize
