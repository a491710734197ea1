"""Builds the messages of CRI, `runtime.v1`, from the compiled proto in `api.binpb`, as generated code does.

`python -m tools.cri_messages` takes that from the package container-runtime-interface-api, whose own module cannot be imported
without grpc, 10 MiB of which evictd uses nothing.
"""

from pathlib import Path

from google.protobuf import descriptor_pool
from google.protobuf.internal import builder

_COMPILED = Path(__file__).with_name("api.binpb").read_bytes()
DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(_COMPILED)
builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())
