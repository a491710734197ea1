"""Every vector of the kubelet, decided again under policy Kubelet."""

from typing import Any

import pytest

from tests.parity.compare import comparisons, mismatches, vector_files
from tests.parity.evaluate import read_lines

DOCUMENTS = {
    f"{path.name.split('.')[1]}-{index}-{document.get('name') or document['kind']}": document
    for path in vector_files()
    for index, document in enumerate(read_lines(path))
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_answer_is_one_that_the_kubelet_gave(document: dict[str, Any]) -> None:
    """Conditions, collections, victims, messages, annotations, grace periods and events, to the letter."""
    assert [(name, wrong) for name, wrong in mismatches(document) if wrong] == []


def test_there_is_something_to_compare() -> None:
    """The vectors are there and whole: 562 stories, 300 configurations, 300 pods, 1,200 quantities, 600 durations."""
    assert sum(map(comparisons, DOCUMENTS.values())) == 2962
