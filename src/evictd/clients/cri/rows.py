"""Splits the runtime's listings into their rows, so that one row at a time is parsed.

A pod's author can give it 110,000 labels. Of a listing of 16 MiB of labels the whole message would take 100 MiB, its rows take
the bytes that were received, once more.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto(
    name="rows",
    number=1,
    label=descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
    type=descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
)
_FILE = descriptor_pb2.FileDescriptorProto(
    name="evictd/rows.proto",
    package="evictd",
    syntax="proto3",
    message_type=[descriptor_pb2.DescriptorProto(name="Rows", field=[_FIELD])],
)
Rows: Any = message_factory.GetMessageClass(
    descriptor_pool.DescriptorPool().AddSerializedFile(_FILE.SerializeToString()).message_types_by_name["Rows"]
)
"""The form of `ListPodSandboxResponse` and `ListContainersResponse`, whose only field is the first; `rows` are serialized."""
