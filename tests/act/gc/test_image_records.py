"""Encoding and decoding of image records."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.gc.image_gc import ImageRecord
from evictd.daemon.store.checkpoint import records_from_plain, records_to_plain
from evictd.errors import InputError

RECORDS = st.dictionaries(st.text(), st.builds(ImageRecord, st.integers(), st.none() | st.integers()))


@given(RECORDS)
def test_records_survive_a_file(records: dict[str, ImageRecord]) -> None:
    assert records_from_plain(json.loads(json.dumps(records_to_plain(records)))) == records


@pytest.mark.parametrize("data", [None, [], "x", {"a": 1}, {"a": [1]}, {"a": ["1", 2]}, {"a": [1, 2, 3]}, {1: [1, 2]}])
def test_anything_else_is_refused(data: object) -> None:
    with pytest.raises(InputError, match="image records"):
        records_from_plain(data)
