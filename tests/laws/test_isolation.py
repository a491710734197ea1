"""The law of isolation: what the author of one pod writes changes no other pod's protection or place in the ranking.

What of a pod may change what is decided about it alone:

| field | its own protection | its own place |
|---|---|---|
| source, mirror annotation, priority | yes | priority |
| memory and ephemeral-storage requests | no | yes |
| usage | no | yes |
| name, namespace, uid | no | among equals |
| labels | no | yes, where `ranking` of the configuration names them: `prefer` alone, `avoid` only with namespaces |
| other annotations, limits, number of containers | no | no, but through their requests |
| controlling owner | no | no; pods that name the same owner share its back-off |
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.pods.pod import decode_pod
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import EvictionConfig, PodGroup, Policy, Preferences
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.core.model.signal import Signal
from evictd.core.units.quantity import NANO, Format, Quantity
from tests.playbook import pod, usage

OTHERS = tuple(
    pod(name, priority=priority, memory=memory)
    for name, priority, memory in (("a", 0, "10"), ("b", 0, None), ("c", 5, "300"), ("d", 0, "10"))
)
USES = {name: usage(pod(name), memory=text, logs=text) for name, text in zip("abcd", "9753", strict=True)}
SIGNALS = [Signal.MEMORY_AVAILABLE, Signal.NODEFS_AVAILABLE, Signal.PID_AVAILABLE, Signal.NODEFS_INODES_FREE]

PREFERENCES = Preferences(
    prefer=(PodGroup(labels={"evict": "first"}),),
    avoid=(PodGroup(namespaces=frozenset({"owned"}), labels={"keep": "yes"}),),
)

texts = st.text(max_size=300)
quantities = st.integers(-(10**30), 10**30).map(lambda n: Quantity(n * NANO, Format.BINARY_SI))
resources = st.dictionaries(st.sampled_from(["memory", "ephemeral-storage", "cpu"]) | texts, quantities, max_size=4)
labels = st.dictionaries(texts, texts, max_size=3) | st.just({"evict": "first"}) | st.just({"keep": "yes"})
containers = st.lists(st.builds(Container, name=texts, requests=resources, limits=resources), max_size=20).map(tuple)


@st.composite
def hostile(draw: st.DrawFn) -> Pod:
    """A pod of which everything that its author writes is drawn."""
    drawn = pod(draw(texts), priority=draw(st.integers(-(2**31), 2**31 - 1)))
    return replace(
        drawn,
        uid="hostile",
        owner=draw(texts),
        namespace=draw(texts | st.just("owned")),
        labels=draw(labels),
        containers=draw(containers),
        init_containers=draw(containers),
        termination_grace_period_seconds=draw(st.none() | st.integers(-(2**63), 2**63 - 1)),
    )


def order(pods: tuple[Pod, ...], signal: Signal, policy: Policy) -> list[str]:
    """The uids of the other pods in the order in which they would go."""
    rows = rank(signal, pods, USES, Layout.SINGLE, policy, preferences=PREFERENCES)
    return [row.uid for row in rows if row.uid != "hostile"]


@pytest.mark.parametrize("policy", Policy)
@given(hostile(), st.sampled_from(SIGNALS))
def test_a_pods_author_changes_no_other_pods_place_or_protection(policy: Policy, written: Pod, signal: Signal) -> None:
    """Names, quantities, priorities, grace periods and any number of containers."""
    config = EvictionConfig(policy=policy)
    alone = [config.protects(each) for each in OTHERS]
    assert order((written, *OTHERS), signal, policy) == order(OTHERS, signal, policy)
    assert [config.protects(each) for each in OTHERS] == alone


@given(hostile())
def test_quantities_and_names_do_not_protect_a_pod(written: Pod) -> None:
    """Only its priority and its source do."""
    plain = pod("plain", priority=written.priority)
    assert EvictionConfig().protects(written) == EvictionConfig().protects(plain)


@given(st.dictionaries(texts, texts, max_size=5))
def test_annotations_do_not_reach_the_core(annotations: dict[str, str]) -> None:
    """But the kubelet's own annotations of static and mirror pods, of which none is drawn here."""
    written = {key: text for key, text in annotations.items() if not key.startswith("kubernetes.io/config.")}
    metadata = {"name": "a", "namespace": "n", "uid": "u"}
    bare = decode_pod({"metadata": metadata})
    assert decode_pod({"metadata": {**metadata, "annotations": written}}) == bare


@given(labels, st.integers(-5, 5), st.sampled_from(SIGNALS))
def test_labels_alone_never_make_a_pod_go_later(written: dict[str, str], priority: int, signal: Signal) -> None:
    """A pod's author writes them: only in a namespace that the node's owner named do they put off an eviction."""
    plain = replace(pod("h", priority=priority), uid="hostile")
    stats = {**USES, "hostile": usage(plain, memory="20", logs="20")}

    def place(each: Pod) -> int:
        rows = rank(signal, (each, *OTHERS), stats, Layout.SINGLE, Policy.STANDARD, preferences=PREFERENCES)
        return [row.uid for row in rows].index("hostile")

    assert place(replace(plain, labels=written)) <= place(plain)
