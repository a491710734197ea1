"""Who holds a supply, in sentences."""

from dataclasses import replace

from evictd.core.model.attribution import Attribution, Share, growth_began, growth_text, holders_text
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND

MI = 1 << 20
HOST = Attribution(
    signal=Signal.MEMORY_AVAILABLE,
    used=7000 * MI,
    over=130 * SECOND + 5,
    evictable=Share(held=2000 * MI, grown=30 * MI, pods=8),
    protected=Share(held=1000 * MI, pods=2),
    leaving=Share(held=0),
    unmeasured=Share(held=0),
    elsewhere=Share(held=4000 * MI, grown=1200 * MI),
)


def test_growth_of_the_host_is_told_from_that_of_pods() -> None:
    assert growth_text(HOST) == "of 1.2Gi that filled memory in the last 2m10s, pods took 30Mi; 1.17Gi belong to no pod"
    assert growth_text(HOST, since="10:02:00").startswith("of 1.2Gi that filled memory since 10:02:00, pods took 30Mi")


def test_the_pod_that_took_most_of_what_the_pods_took_is_named() -> None:
    grown = replace(HOST, evictable=Share(held=1, grown=1200 * MI), grower="shop/checkout", grower_grown=900 * MI)
    assert ", pods took 1.17Gi (most of it shop/checkout, 900Mi); " in growth_text(grown)
    assert "(all of it shop/checkout)" in growth_text(replace(grown, grower_grown=1195 * MI))
    assert "shop" not in growth_text(replace(grown, grower_grown=500 * MI)), "less than half"
    assert "shop" not in growth_text(replace(grown, grower_grown=600 * MI)), "half is not most"
    assert "shop" not in growth_text(replace(HOST, grower="shop/checkout", grower_grown=30 * MI)), (
        "the pods took little of all"
    )
    assert "shop" not in growth_text(grown, named=False)


def test_the_rest_grew_by_no_more_than_it_holds() -> None:
    """A pod ended that had taken 650Mi since it was measured, and these were said to belong to no pod later."""
    ended = replace(HOST, evictable=Share(held=1, grown=5000 * MI), elsewhere=Share(held=10 * MI, grown=650 * MI))
    assert growth_text(ended).endswith("pods took 4.88Gi; nothing else grew")
    assert ended.filled == 5010 * MI
    assert replace(ended, elsewhere=Share(held=-5, grown=650)).grown_elsewhere == 650, "not known better"


def test_a_pod_grew_alone_where_nothing_else_took_a_hundredth() -> None:
    alone = replace(
        HOST, evictable=Share(held=1, grown=1200 * MI), elsewhere=Share(held=1), grower="a/b", grower_grown=1200 * MI
    )
    assert alone.grower_alone
    assert replace(alone, grower_grown=1189 * MI).grower_alone
    assert not replace(alone, grower_grown=1188 * MI).grower_alone
    assert not HOST.grower_alone


def test_pods_that_may_not_go_are_named_beside_the_others() -> None:
    found = replace(
        HOST,
        protected=Share(held=3000 * MI, grown=2000 * MI, pods=1),
        leaving=Share(held=100 * MI, grown=20 * MI, pods=1),
        elsewhere=Share(held=0, grown=-50 * MI),
    )
    assert growth_text(found).endswith("pods took 2Gi (protected ones 1.95Gi, leaving ones 20Mi); nothing else grew")


def test_a_pod_that_alone_grew_has_its_kind_and_no_second_amount() -> None:
    alone = replace(
        HOST, grower="default/slow", grower_grown=1024 * MI, evictable=Share(held=0), elsewhere=Share(held=0)
    )
    took, none = Share(held=1, grown=1024 * MI), Share(held=0)
    leaving, protected = replace(alone, leaving=took, protected=none), replace(alone, leaving=none, protected=took)
    for found, kind in ((leaving, "leaving"), (protected, "protected")):
        assert growth_text(found).endswith(f"pods took 1Gi (all of it default/slow, a {kind} pod); nothing else grew")


def test_without_growth_only_the_holders_are_written() -> None:
    calm = replace(HOST, over=None)
    assert growth_text(calm) == ""
    assert growth_text(replace(HOST, evictable=Share(held=1), elsewhere=Share(held=1))) == ""
    assert holders_text(calm) == (
        "of 6.84Gi used of memory, evictable pods hold 1.95Gi, protected pods hold 1000Mi; 3.91Gi belong to no pod"
    )


def test_what_is_not_known_is_not_charged_to_no_pod() -> None:
    found = replace(HOST, unmeasured=Share(held=None, pods=1), reclaimable=1 << 30)
    assert holders_text(found).endswith(
        "3.91Gi belong to no measured pod; 1Gi of all are clean file pages, which the kernel can give back"
    )


def test_processes_are_counted() -> None:
    found = replace(
        HOST, signal=Signal.PID_AVAILABLE, evictable=Share(held=900, grown=40), elsewhere=Share(held=5000, grown=4000)
    )
    assert growth_text(found, since="x") == "of 4040 PIDs taken since x, pods took 40; 4000 belong to no pod"


def test_unused_images_are_named_as_an_upper_bound() -> None:
    found = replace(HOST, signal=Signal.NODEFS_AVAILABLE, reclaimable=3000 * MI)
    assert holders_text(found).endswith(
        "3.91Gi belong to no pod or lie in hostPath volumes; up to 2.93Gi of all are unused images, which the runtime can remove"
    )


def test_a_disk_of_its_own_has_another_name_than_that_of_the_node() -> None:
    """In a history over two disks both were `the disk`."""
    disks = {
        Signal.NODEFS_AVAILABLE: "filled the disk in",
        Signal.IMAGEFS_AVAILABLE: "filled the disk of imagefs in",
        Signal.IMAGEFS_INODES_FREE: "inodes of imagefs taken in",
    }
    for signal, text in disks.items():
        assert text in growth_text(replace(HOST, signal=signal))


def test_growth_began_where_all_but_a_hundredth_is_counted_from() -> None:
    assert growth_began([(0, 1), (99, 7), (3, 9)]) == 7
    assert growth_began([(1, 3), (199, 7)]) == 7, "less than a hundredth"
    assert growth_began([(1, 3), (1, 4), (100, 7)]) == 4, "a hundredth together"
    assert growth_began([(0, 1), (-4, 2)]) is None
