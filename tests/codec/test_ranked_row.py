"""With how much less use of the evicted pod another one goes first."""

from evictd.codec.records.ranked_row import RankedRow, overtaken, uid_behind


def row(
    name: str, usage: int | None, request: int = 0, priority: int = 0, *, preference: int = 0, protected: bool = False
) -> RankedRow:
    exceeds = None if usage is None else usage > request
    return RankedRow(
        uid=name,
        namespace="n",
        name=name,
        usage=usage,
        request=request,
        priority=priority,
        exceeds_request=exceeds,
        preference=preference,
        protected=protected,
    )


def test_the_pod_behind_is_named() -> None:
    rows = [row("a", 9), row("b", 5)]
    assert (uid_behind(rows, "a"), uid_behind(rows, "b"), uid_behind(rows, "c")) == ("b", "", "")


def test_another_pod_is_first_with_less_use_of_the_evicted_one() -> None:
    leak = row("leak", 900, 500)
    assert overtaken([leak, row("web", 700, 600)], "leak") == (300, "n/web"), "the larger excess"
    assert overtaken([leak, row("web", 700, 600, priority=1)], "leak") == (400, "n/web"), (
        "until it is within its request"
    )
    assert overtaken([leak, row("web", 700, 800)], "leak") == (500, "n/web"), "both within"
    assert overtaken([leak, row("low", 700, 800, priority=-1)], "leak") == (400, "n/low")
    assert overtaken([row("leak", 400, 500), row("web", 300, 500)], "leak") == (100, "n/web")
    assert overtaken([leak, row("web", 700, 600), row("db", 900, 600)], "leak") == (100, "n/db")


def test_a_preference_decides_as_a_priority_does_after_the_request() -> None:
    leak = row("leak", 900, 500)
    assert overtaken([leak, row("avoided", 700, 600, preference=1)], "leak") == (400, "n/avoided")
    assert overtaken([leak, row("preferred", 700, 800, preference=-1)], "leak") == (400, "n/preferred")
    assert overtaken([leak, row("preferred", 700, 800, 1, preference=-1)], "leak") == (400, "n/preferred")
    assert overtaken([leak, row("avoided", 700, 800, preference=1)], "leak") == (0, ""), "both within"
    assert overtaken([leak, row("avoided", 700, 800, -1, preference=1)], "leak") == (0, "")


def test_no_pod_is_first_where_the_order_stays_or_is_not_known() -> None:
    leak = row("leak", 900, 500)
    none = (0, "")
    assert overtaken([leak, row("web", 700, 800, priority=1)], "leak") == none
    assert overtaken([leak, row("web", None)], "leak") == none
    assert overtaken([leak, row("web", 700, 600, protected=True)], "leak") == none
    assert overtaken([leak], "leak") == overtaken([], "leak") == none
