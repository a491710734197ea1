"""The pods that a name may stand for."""

import pytest

from evictd.render.history.pods_meant import pods_meant


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("checkout-5d8f-x2", "did you mean shop/checkout-5d8f-x2?"),
        ("checkout", "did you mean shop/checkout-5d8f-x2 or test/checkout-5d8f-q7?"),
        ("shop/checkout", "did you mean shop/checkout-5d8f-x2?"),
        ("shop/chekout-5d8f-x2", "did you mean shop/checkout-5d8f-x2?"),
        ("logshipper", "did you mean shop/log-shipper?"),
        ("qqq", ""),
    ],
)
def test_a_name_that_no_pod_has_names_those_that_may_be_meant(name: str, meant: str) -> None:
    pods = ("test/checkout-5d8f-q7", "shop/checkout-5d8f-x2", "shop/log-shipper")
    assert pods_meant(name, pods) == meant
