"""Encoding and decoding of image records."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.gc.image_gc import ImageRecord
from evictd.core.units.quantity import MAX_INT64
from evictd.daemon.store.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from evictd.errors import InputError

times = st.integers(-MAX_INT64, MAX_INT64)
RECORDS = st.dictionaries(st.text(max_size=20), st.builds(ImageRecord, times, st.none() | times))


def checkpoint(images: Mapping[str, ImageRecord]) -> Checkpoint:
    return Checkpoint(images=images, running_since=1)


@given(RECORDS)
def test_records_survive_a_file(records: dict[str, ImageRecord]) -> None:
    plain = json.loads(json.dumps(encode_checkpoint(checkpoint(records))))
    assert decode_checkpoint(plain) == checkpoint(records)


@pytest.mark.parametrize(
    "data", [None, [], "x", {"a": 1}, {"a": [1]}, {"a": ["1", 2]}, {"a": [1, 2, 3]}, {1: [1, 2]}, {"a": [1 << 63, 2]}]
)
def test_anything_else_is_refused(data: object) -> None:
    with pytest.raises(InputError, match="remembered: images"):
        decode_checkpoint({**encode_checkpoint(checkpoint({})), "images": data})
