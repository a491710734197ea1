"""The identity of a world's pods, and what their limits and volumes bound."""

from dataclasses import replace

import pytest

from evictd.core.model.resources import Container, Volume, VolumeKind
from evictd.core.units.quantity import parse_quantity
from evictd.world.behaviours import Grow, Usage
from evictd.world.model import memory_limit, pod_uid, within_volumes
from tests.playbook import pod
from tests.world.worlds import GI


def test_a_pod_s_uid_is_its_own_and_the_same_in_each_run() -> None:
    assert pod_uid("default/web") == pod_uid("default/web") != pod_uid("default/web-1")
    assert pod_uid("default/web")[:8] != pod_uid("default/web-1")[:8]


def test_a_memory_limit_needs_one_of_every_container() -> None:
    limited = Container(name="a", limits={"memory": parse_quantity("1Gi")})
    assert memory_limit(pod("p", containers=(limited,))) == GI
    assert memory_limit(pod("p", containers=(limited, Container(name="b")))) is None


FILES = Grow(of=Usage.MEMORY_VOLUME, rate=10)


@pytest.mark.parametrize(
    ("sizes", "limit", "most"),
    [
        ((), None, None),
        ((None,), None, None),
        (("0",), None, None),
        (("1Gi",), None, GI),
        (("1Gi", "2Gi"), None, 3 * GI),
        (("1Gi", None), None, None),
        ((), "1Gi", GI),
        (("2Gi",), "1Gi", GI),
        (("512Mi", None), "1Gi", GI + GI // 2),
    ],
)
def test_the_size_of_its_volumes_in_memory_bounds_the_files_in_them(
    sizes: tuple[str | None, ...], limit: str | None, most: int | None
) -> None:
    """A world played on beyond the `sizeLimit`, so what `evictd incident` proposes could not be tried."""
    limits = {} if limit is None else {"memory": parse_quantity(limit)}
    kind, others = (
        VolumeKind.EMPTY_DIR,
        (Volume(name="disk", kind=VolumeKind.EMPTY_DIR, size_limit=parse_quantity("1")),),
    )
    volumes = tuple(
        Volume(name="m", kind=kind, medium="Memory", size_limit=None if each is None else parse_quantity(each))
        for each in sizes
    )
    found = pod("p", containers=(Container(name="c", limits=limits),), volumes=volumes + others)
    assert within_volumes((FILES,), found) == (replace(FILES, bound=most),)
