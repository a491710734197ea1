"""The sentence of a kill by the kernel."""

from evictd.render.kernel_kills import kill_text


def test_a_pod_is_named_with_what_the_kill_was_not() -> None:
    assert kill_text("default/web", "u", 1) == (
        "the kernel killed 1 process of default/web for want of memory of the node, not at a limit of the pod"
    )


def test_a_cgroup_outside_pods_is_named_cleanly() -> None:
    assert kill_text("a\x1b[2J", "", 2) == "the kernel killed 2 processes of a\\x1b[2J for want of memory of the node"
