"""The system's tools: how a failure looks, and what /proc says."""

import subprocess

import pytest

from evictd.errors import NodeError
from evictd_testnode.tool import command_line, process_ids, run_tool, start_time, wait_for


def test_a_tools_output_and_its_failure() -> None:
    assert run_tool("echo", "a b") == "a b\n"
    with pytest.raises(NodeError, match=r"^sh -c .*: exit status 3: broken pipe$"):
        run_tool("sh", "-c", "printf 'broken\\n  pipe' >&2; exit 3")
    with pytest.raises(NodeError, match="no-such-tool"):
        run_tool("no-such-tool")


def test_waiting_ends_with_the_condition_or_the_bound() -> None:
    asked = iter([False, False, True])
    assert wait_for(lambda: next(asked))
    assert not wait_for(lambda: False, seconds=0.05)


def test_a_process_is_named_by_its_pid_and_start_time() -> None:
    child = subprocess.Popen(["sleep", "1000"])
    try:
        assert start_time(child.pid) == start_time(child.pid) is not None
        assert child.pid in process_ids()
        assert wait_for(lambda: command_line(child.pid) == ["sleep", "1000"])
        child.kill()
        assert wait_for(lambda: start_time(child.pid) is None), "it has ended, although its status was not collected"
    finally:
        child.kill()
        child.wait()
    assert start_time(child.pid) is None
    assert command_line(child.pid) == []
