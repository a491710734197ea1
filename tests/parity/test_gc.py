"""What the kubelet's own collectors removed, in 254 stories."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.parity.gc import KINDS, evaluate

VECTORS = Path(__file__).parents[1] / "data/vectors/kubelet-1.36-gc-random.jsonl.gz"


def _stories() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


STORIES = _stories()


def test_all_stories_are_there() -> None:
    kinds = [story["kind"] for story in STORIES]
    assert [kinds.count(kind) for kind in KINDS] == [104, 150]


@pytest.mark.parametrize("number", range(len(STORIES)))
def test_the_collectors_remove_what_the_kubelet_removed(number: int) -> None:
    story = STORIES[number]
    answer = evaluate(story)
    if story["kind"] == "image-gc":
        assert answer["values"] == story["expect"]["values"]
    else:
        assert answer["outcome"] in story["expect"]["outcomes"]
