"""What of a document can be read, whatever else it holds."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.pods.lenient import plain_values, readable, text_at
from evictd.codec.pods.pod import pod_of
from evictd.codec.pods.pod_wire import WirePod

NAMES = [
    "metadata", "spec", "status", "name", "uid", "containers", "resources", "requests", "memory", "volumes", "emptyDir",
    "sizeLimit", "tolerations", "key", "priority", "annotations", "ownerReferences", "controller", "qosClass", "phase",
]  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["1Gi", "1e5000", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JUNK)
def test_what_is_kept_makes_a_pod(document: object) -> None:
    """Any plain values: the rest converts, and every quantity in it can be read."""
    kept, dropped = readable(WirePod, document)
    pod_of(msgspec.convert(kept, WirePod))
    assert all(path.isprintable() for path in dropped)


def test_numbers_that_no_field_holds_stay_texts() -> None:
    """Python refuses to make 5,000 digits an int, and makes `1e5000` infinite."""
    assert plain_values(b"[1, 1e5000, " + b"9" * 5000 + b"]") == [1, "1e5000", "9" * 5000]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": {"b": "x"}, "other": 1}', "x"),
        ('{"a": {"b": "x"}, "other": ' + "9" * 6000 + "}", "x"),
        ('{"a": {"b": 1}}', ""),
        ('{"a": null}', ""),
        ('{"a": {"b": "\\ud800"}}', ""),
        ("[]", ""),
        ('{"a": ' + "[" * 100_000, ""),
        ("", ""),
    ],
)
def test_a_string_below_keys(text: str, found: str) -> None:
    assert text_at(text, "a", "b") == found
