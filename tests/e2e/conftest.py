"""`EVICTD_STORY_TIMES=FOLDER`: leave each story's times there, for the report of `make e2e-soak`."""

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.story import Story


@pytest.fixture(autouse=True)
def story_times(request: pytest.FixtureRequest) -> Iterator[None]:
    Story.ended.clear()
    yield
    folder = os.environ.get("EVICTD_STORY_TIMES", "")
    if folder and Story.ended:
        noted = {"story": request.node.name, **Story.ended[-1]}
        (Path(folder) / f"{uuid.uuid4()}.json").write_text(json.dumps(noted))
