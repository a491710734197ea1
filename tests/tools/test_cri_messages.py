"""The messages of CRI are the published ones, and bring no gRPC library along."""

import subprocess
import sys

from tools.cri_messages import MESSAGES, published


def test_the_messages_are_those_of_the_published_package() -> None:
    assert MESSAGES.read_bytes() == published(), "run: python -m tools.cri_messages"


def test_the_client_imports_neither_grpc_nor_the_package() -> None:
    code = "import sys, evictd.clients.cri.client; print(sorted({'grpc', 'cri_api'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
