"""What threads free is used by the others."""

import subprocess
import sys
from ctypes.util import find_library

import pytest

COUNT = """
import ctypes, threading
from evictd.daemon.host.malloc import use_one_arena

use_one_arena()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
together = threading.Barrier(8)

def allocate():
    kept = bytearray(10_000)
    together.wait(60)

threads = [threading.Thread(target=allocate) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
file = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(find_library("c") != "libc.so.6", reason="malloc_info is glibc's")
def test_all_threads_allocate_from_one_arena() -> None:
    ended = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.count("<heap nr=") == 1
