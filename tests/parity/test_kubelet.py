"""Every vector of the kubelet, decided again under policy Kubelet."""

import pytest
from tests.parity.compare import mismatches, vector_files
from tests.parity.evaluate import read_lines

DOCUMENTS = [
    pytest.param(document, id=f"{path.name.split('.')[1]}-{index}-{document.get('name') or document['kind']}")
    for path in vector_files()
    for index, document in enumerate(read_lines(path))
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_answer_is_one_that_the_kubelet_gave(document: dict[str, object]) -> None:
    """Conditions, collections, victims, messages, annotations, grace periods and events, to the letter."""
    assert [(name, wrong) for name, wrong in mismatches(document) if wrong] == []


def test_there_is_something_to_compare() -> None:
    """The vectors are there and whole: 562 stories, 300 configurations, 300 pods, 1,200 quantities, 600 durations."""
    assert sum(1 for parameters in DOCUMENTS for _ in mismatches(parameters.values[0])) == 2962
