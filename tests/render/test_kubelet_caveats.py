"""In what policy Kubelet differs from a kubelet."""

import pytest

from evictd.render.kubelet_caveats import kubelet_caveats


@pytest.mark.parametrize(
    ("looks_sooner", "asks_budgets", "begins"),
    [
        (False, False, []),
        (True, False, ["Policy Kubelet decides as a kubelet does, but"]),
        (True, True, ["Policy Kubelet decides as a kubelet does, but", "A kubelet ignores disruption budgets"]),
    ],
)
def test_each_difference_is_a_sentence(looks_sooner: bool, asks_budgets: bool, begins: list[str]) -> None:
    found = list(kubelet_caveats(looks_sooner=looks_sooner, asks_budgets=asks_budgets))
    assert [text.startswith(begin) for text, begin in zip(found, begins, strict=True)] == [True] * len(begins)
