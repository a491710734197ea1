"""The page at `/`: its words and its escaping."""

import html.parser
from dataclasses import replace

from evictd.core.model.finding import SignalUnobserved
from evictd.core.model.observation import Problem
from evictd.core.units.duration import HOUR, MINUTE
from evictd.errors import CREDENTIALS_SOURCE
from evictd.render.status.page.node_page import asset
from tests.daemon.world import GI, STATIC, WEB, pod
from tests.render.shown_nodes import (
    HOSTILE,
    approaching,
    blind,
    blocked,
    calm,
    crowded,
    page,
    play,
    pressed,
    recovered,
    rehearsed,
)


def test_a_calm_node_says_so_once_and_which_threshold_is_met_first() -> None:
    text = page(calm())
    assert "This node is calm: no threshold is met and no pod is being evicted." in text
    assert text.count("no threshold is met") == 2, "the title and the headline"
    assert "Why no pod is being evicted" not in text
    nearest = "Nearest by distance: memory.available, 3.38Gi above its soft threshold 2Gi; "
    assert f"{nearest}it falls, but it was as low within the last hour and rose again." in text
    assert "met in" not in text, "it goes up and down"
    assert "First: <strong>default/hog</strong>" in text
    assert "never evicted: static pod" in text


def test_the_threshold_that_is_met_first_stands_at_the_top_with_the_time_at_which_it_acts() -> None:
    text = page(play([6 * GI - number * GI // 32 for number in range(80)]))
    first = "Nearest by time: memory.available reaches its soft threshold 2Gi in 24m28s at the present rate"
    assert f"<li>{first}, and acts in about 25m58s (grace period 1m30s).</li>" in text
    assert text.count("reaches its soft threshold") == 1


def test_a_node_under_pressure_shows_its_victim_and_the_decisions_with_their_numbers() -> None:
    text = page(pressed())
    begins = "default/hog is being evicted (began 2.0s ago); memory.available reaches 0 in 6.4s at this rate (512Mi left, hard"
    assert f'<h1 class="hard">{begins} threshold 1Gi).</h1>' in text
    assert "Leaving pods" in text
    assert "evict default/hog (grace period" in text
    assert "MemoryPressure</strong> True, since 2023-11-14" in text
    assert "Why no pod is being evicted" not in text
    head = text.partition("Other signals")[0]
    assert (
        "Chosen default/hog (5Gi): it requests none and uses 5Gi; default/web, the next, exceeds its request of 1Gi by 3.92Gi"
        in head
    )
    assert "Evicted default/hog" not in text, "it is being evicted"
    assert "eviction of default/hog began 2.0s ago" in text
    end = "if the end of default/hog is not enough"
    assert f"default/web (4.92Gi) would be evicted next, {end}: exceeds its request by 3.92Gi." in head
    share = "Of 1.79Gi that filled memory since 22:57:50, pods took 0; 1.79Gi belong to no pod."
    assert share in text.partition("</header>")[0]
    assert text.count(share) == 1


def test_a_soft_threshold_says_nothing_of_its_time_while_a_hard_one_is_met() -> None:
    text = page(pressed())
    assert "soft 2Gi (grace period 1m30s): met</li>" in text
    assert "hard 1Gi: met</li>" in text
    assert "acts in" not in text


def test_every_pod_of_a_full_node_is_there() -> None:
    text = page(crowded())
    assert all(f"-x2x{number:02}" in text for number in range(110))
    assert "the other 105 pods by memory" in text


def test_what_is_short_is_drawn_before_what_explains_it_and_before_the_other_signals() -> None:
    """On a phone the line lay below the fold, under the leaving pods and who holds how much."""
    for text, after in ((page(pressed()), '<h2 id="leaving">'), (page(blocked()), '<h2 id="nothing">')):
        places = [
            text.index(each) for each in ("<h3>memory", '<svg class="trend"', after, "Other signals", "<h3>nodefs")
        ]
        assert places == sorted(places)
    crowd = page(crowded()).partition('<h2 id="signals">')
    assert "Why that pod is first" in crowd[0]
    assert "Of 190Gi used of memory" in crowd[2].partition("</section>")[0]
    assert "Other signals" not in page(calm())


def test_hostile_names_are_text() -> None:
    """A name in the API is checked; one in a manifest, a problem or a runtime's message is not."""
    near = page(play([4 * GI - number * GI // 16 for number in range(20)], (pod("`" + HOSTILE), WEB)))
    assert "<script>alert" not in near
    assert "default/`&lt;script&gt;alert" in near
    text = page(play([GI // 2], (pod(HOSTILE), WEB)))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "\x1b" not in text


def test_no_style_script_or_handler_is_inline_and_nothing_comes_from_elsewhere() -> None:
    found: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            for name, value in attributes:
                if name == "style" or name.startswith("on"):
                    found.append(f"{tag} {name}")
                if name in {"src", "href"} and ("//" in (value or "") or (value or "").startswith("data:")):
                    found.append(f"{tag} {value}")
            if tag == "style" or (tag == "script" and not dict(attributes).get("src")):
                found.append(tag)

    Reader().feed(page(pressed()))
    assert found == []
    assert b"http" not in asset("page.css") + asset("page.js")


def test_a_node_that_is_not_seen_is_no_calm_one() -> None:
    snapshot = calm()
    unread = replace(snapshot, observation=replace(snapshot.observation, node=None))
    assert "evictd does not see this node: its numbers cannot be read, so no threshold is tested" in page(unread)


def test_without_the_runtime_it_says_what_goes_on_and_the_error_stands_once() -> None:
    text = page(blind())
    head = text.partition("</header>")[0]
    wrong = "evictd cannot see new pods: the container runtime does not answer (for 5m2s, since 22:52:50 UTC)."
    assert f'<h1 class="blind">{wrong} No threshold is met.</h1>' in head
    only = "only pods that the runtime listed before can be evicted, and no container or image can be removed"
    still = f"<li>Thresholds are tested and the usage of pods is measured; {only}.</li>"
    asks = "To evict a pod, evictd asks the runtime again and again to stop it."
    assert f"{still}<li>{asks} At the end of the grace period evictd kills the pod&#39;s processes itself.</li>" in head
    assert "<strong>What you can do:</strong> look whether the runtime runs" in head
    assert head.index("again and again") < head.index("What you can do") < head.index("<li>Nearest by distance: memory")
    assert "<span>3 pods as the runtime listed them before 22:52:50 UTC</span>" in head
    assert "Order of eviction <small>(pods as the runtime listed them before 22:52:50 UTC)</small>" in text
    assert text.count("UNAVAILABLE") == 1
    rejected = replace(
        calm(), observation=replace(calm().observation, problems=(Problem(source=CREDENTIALS_SOURCE, detail="401"),))
    )
    assert "evictd does not see" not in page(rejected)


def test_pods_that_were_never_listed_are_unknown_and_not_none() -> None:
    """The page said `0 pods` and `There are no active pods to evict.` below `evictd cannot see the pods`."""
    seen = blind()
    text = page(replace(seen, observation=replace(seen.observation, pods=())))
    assert "<span>pods unknown</span>" in text
    assert "<p>No pod is ranked.</p>" in text
    assert "evictd cannot see the pods: the container runtime does not answer" in text
    assert "no active pods" not in text
    assert text.count("pods are unknown") == 0


def test_an_eviction_is_marked_on_the_line_of_its_signal_and_said_below() -> None:
    text = page(recovered())
    assert 'class="mark"' in text
    assert "default/hog evicted 10m" in text
    assert '<a href="#incident-uid-hog">' in text
    assert text.count('id="incident-uid-hog"') == 1
    assert (
        '<code>evictd incident uid-hog</code> shows everything around it (<a href="#commands">where to run it</a>)'
        in text
    )
    assert (
        "Evicted default/hog (5Gi): it requests none and uses 5Gi; default/web, the next, exceeds its request of 1Gi by 3.92Gi"
        in text
    )


def test_a_node_that_is_calm_again_says_what_was_evicted_who_filled_it_and_what_to_do() -> None:
    """Its headline was that of a node that had never been short, and the cause stood only among the last decisions."""
    text = page(recovered())
    head = text.partition("</header>")[0]
    assert "Calm again: default/hog was evicted 10m2s ago for memory.available; no threshold is met.</h1>" in head
    why = "<li>Evicted default/hog (5Gi): it requests none and uses 5Gi; default/web, the next, exceeds its request"
    share = "<li>Of 1.93Gi that filled memory since 22:31:20, pods took 0; 1.93Gi belong to no pod.</li>"
    assert 0 < head.index(why) < head.index(share) < head.index("What you can do")
    assert "<code>evictd incident default/hog</code> says what would have avoided that eviction.</p>" in head
    assert text.count("Of 1.93Gi that filled memory") == 1
    assert "was evicted" not in page(recovered(), later=HOUR).partition("</header>")[0], "more than an hour ago"
    soon = page(play([5 * GI, 4 * GI, GI // 2, 6 * GI, 6 * GI, 6 * GI], gone_at=3)).partition("</header>")[0]
    assert (
        "Calm again: default/hog was evicted 1m32s ago for memory.available; no threshold is met; MemoryPressure"
        in soon
    )


def test_a_dry_run_says_which_pod_would_be_evicted_and_that_it_does_nothing() -> None:
    text = page(rehearsed())
    short = "memory.available is below its hard threshold (512Mi left, limit 1Gi)"
    assert f"Dry run: {short}; default/hog would have been evicted 32s ago for memory.available.</h1>" in text
    assert "evictd is in a dry run and evicts no pod; a kubelet on this node still acts at its own thresholds" in text
    assert "Conditions <small>(a dry run reports none)</small>" in text
    would = "would be reported since 2023-11-14 22:31:50 UTC; would stay at least 4m58s more"
    assert f'<li class="would"><strong>MemoryPressure</strong> {would}</li>' in text
    assert "True" not in text
    still = page(play([6 * GI] * 5, dry_run=True))
    assert "Dry run: no threshold is met, and no pod would be evicted.</h1>" in still
    over = page(play([6 * GI, int(1.5 * GI), 6 * GI], dry_run=True))
    assert "Dry run: no threshold is met; MemoryPressure would be reported for at least 4m" in over
    assert "<small>(a dry run" not in page(pressed())


def test_a_card_does_not_repeat_its_heading() -> None:
    text = page(play([GI // 2], (STATIC,)))
    card = text.partition('<h2 id="order">')[2].partition("</article>")[0]
    assert "<h3>memory.available</h3>" in card
    assert card.count("memory.available") == 1
    assert "no pod" in card


def test_it_says_how_long_the_end_of_a_pod_is_awaited() -> None:
    text = page(pressed())
    assert "grace period 1s; evictd waits for its end for at most 38s, and then decides anew<p>" in text
    assert "waits for an evicted pod" not in text, "the headline says that it is being evicted"
    assert "Next: <strong>default/web</strong>." in text


def test_it_says_why_no_other_pod_goes_where_one_does_not_end() -> None:
    text = page(play([6 * GI] * 5, processes=17_000))
    (said,) = (each for each in text.split("<section") if "Why no other pod is being evicted" in each)
    assert "616 processes are needed. The others that may be evicted hold 79 processes together" in said
    assert 'No pod would be evicted: <a href="#nothing">why</a>.' in text
    assert "Findings of the last cycle" not in text, "it is said once"


def test_it_says_whether_what_a_leaving_pod_held_is_enough() -> None:
    """It said only what follows if that is not enough."""
    assert (
        "<p>When it was chosen it held 5Gi and 512Mi was missing to the threshold: enough for 1m15s at the rate of the last "
        "30s (61.2Mi a second), which belongs to no pod.</p></li>" in page(pressed())
    )
    small = replace(pressed().state.in_flight[0], missing=6 * GI)
    short = replace(pressed(), state=replace(pressed().state, in_flight=(small,)))
    assert "it held 5Gi and 6Gi was missing to the threshold: too little alone." in page(short)
    few = page(play([6 * GI] * 2, processes=17_000))
    assert "it held 80 processes and 616 processes were missing to the threshold" in few, "it said 80, of nothing"
    unmeasured = replace(short, state=replace(short.state, in_flight=(replace(small, owed={}),)))
    assert "When it was chosen" not in page(unmeasured)


def test_a_fault_does_not_hide_a_threshold_that_is_met() -> None:
    """The headline said only that the runtime does not answer, on a node without memory."""
    short = pressed()
    problem = Problem(source="container runtime", detail="UNAVAILABLE")
    blinded = replace(short, observation=replace(short.observation, problems=(problem,))).following(blind())
    head = page(blinded).partition("</header>")[0]
    evicts = "default/hog is being evicted (began 2.0s ago)"
    assert head.index("<li>At 0 the kernel") < head.index("<li>Thresholds are tested"), "time counts first"
    acting = f"{evicts}; memory.available reaches 0 in 6.4s at this rate (512Mi left, hard threshold 1Gi)."
    wrong = "evictd cannot see new pods: the container runtime does not answer (for 5m32s, since 22:52:50 UTC)."
    assert f'<h1 class="blind">{acting} {wrong}</h1>' in head


def test_a_daemon_that_stands_still_names_no_next_pod() -> None:
    head = page(calm(), later=10 * MINUTE).partition("</header>")[0]
    assert "its loop stands still" in head
    assert "would be evicted" not in head
    assert '<small>(as read <span data-age="600.0">10m0s</span> ago)</small>' in page(calm(), later=10 * MINUTE)
    assert "as read" not in page(calm())
    assert '<main class="stale">' in page(calm(), later=10 * MINUTE), "its bars are grey"


def test_what_is_not_measured_takes_one_line_and_what_cannot_be_here_no_box() -> None:
    snapshot = play([6 * GI], processes=None)
    text = page(snapshot)
    head = text.partition("</header>")[0]
    assert "No threshold that can be tested is met; pid.available cannot be read." in head
    assert "calm" not in head
    pids = Problem(source="pids", detail="/proc/loadavg: Input/output error")
    other = Problem(source="systemd-oomd", detail="it kills pods")
    failed = page(replace(snapshot, observation=replace(snapshot.observation, problems=(pids, other))))
    assert "its thresholds are not tested. Cause: pids: /proc/loadavg: Input/output error.</p>" in failed
    assert text.count("evictd explain</code> measures now") == 1
    assert "not measured" not in text
    absent = tuple(
        replace(each, absent=True) if isinstance(each, SignalUnobserved) else each for each in snapshot.findings
    )
    text = page(replace(snapshot, findings=absent))
    assert "No threshold is met; how fast signals fall" in text
    assert "Not on this node: pid.available. Its thresholds are not tested." in text
    assert "No reading" not in text


def test_where_no_pod_may_go_the_headline_says_so_and_the_name_of_the_finding_is_last() -> None:
    """It ended with "is below its hard threshold", and the reason began with an internal name."""
    text = page(blocked())
    culprit = "default/etcd holds the most of all pods and is a static pod"
    short = "memory.available reaches 0 in 1.3s at this rate (512Mi left, hard threshold 1Gi)"
    assert f"{short}. evictd evicts no pod: {culprit}.</h1>" in text
    assert "<li>Of 4.5Gi that filled memory since 22:13:50, pods took 0; 4.5Gi belong to no pod.</li>" in text
    assert (
        f"<li>memory.available: {culprit}; 512Mi is needed, and no pod that may be evicted holds any (ProtectedCulprit)</li>"
        in text
    )
    assert text.count("ProtectedCulprit") == 1, "it stood in the order of eviction again"
    assert '<p class="held">No pod would be evicted: <a href="#nothing">why</a>.' in text
    outside = (
        "free memory outside pods (<code>systemd-cgtop -m</code> shows host services, <code>slabtop</code> the kernel)"
    )
    first = f"<strong>What you can do:</strong> {outside}: what grew belongs to no pod; after that, limit default/etcd"
    assert first in text, "it named only the protected pod, which did not grow"
    ends = "<li>At 0 the kernel&#39;s OOM killer kills processes; the rate: 154Mi a second in the last 30s.</li>"
    assert ends in text
    assert '<p class="held">No active pod is left that may be evicted: protected pods never are.' in text
    assert "ProtectedCulprit:" not in text


def test_a_node_that_cannot_be_read_keeps_its_name() -> None:
    seen = calm().following(None)
    unread = replace(seen, observation=replace(seen.observation, node=None)).following(seen)
    assert "evictd 1.2.3 on <strong>node-1</strong>" in page(unread)
    assert "<strong>MemoryPressure</strong> False, as tested last</li>" in page(unread)
    assert "No signal can be read." in page(replace(unread, findings=()))
    assert "tried to read <time" in page(unread)
    problem = Problem(source="memory of the node", detail="/proc/meminfo: Input/output error")
    failed = replace(unread, findings=(), observation=replace(unread.observation, problems=(problem,))).following(seen)
    cause = "No pod is ranked: the numbers of node-1 cannot be read (memory of the node: /proc/meminfo: Input/output error)."
    assert cause in page(failed)
    assert "as tested last" not in page(seen)


def test_the_headline_is_followed_by_the_time_that_is_left_and_then_by_what_a_person_can_do() -> None:
    """The 8.4 s until memory was gone stood below advice that takes longer, as did what evictd still does."""
    firsts = ("At 0 the kernel", None, "At 0 the kernel", "Thresholds are tested")
    for snapshot, first in zip((pressed(), approaching(), blocked(), blind()), firsts, strict=True):
        after = page(snapshot).partition("</header>")[0].partition('<p id="last" role="status"></p>')[2].strip()
        todo = '<p class="todo"><strong>What you can do:</strong>'
        assert after.startswith(todo if first is None else f'<ul class="next"><li>{first}')
        assert after.partition("</ul>")[2].strip().startswith(todo) or first is None
    assert "What you can do" not in page(calm())


def test_the_foot_has_the_commands_that_find_the_pod_of_this_node() -> None:
    """It said `kubectl exec POD`, and not which pod that is."""
    foot = page(calm().following(None)).partition("<footer>")[2]
    find = "--field-selector spec.nodeName=node-1,status.phase=Running -o name)</code>"
    assert f"<code>POD=$(kubectl -n evictd get pods -l app.kubernetes.io/name=evictd {find}" in foot
    assert "<code>kubectl -n evictd exec $POD -c evictd -- evictd status</code>" in foot
    page_of_incident = (
        "<code>kubectl -n evictd exec $POD -c evictd -- evictd incident last --output html &gt; incident.html</code>"
    )
    assert page_of_incident in foot, "no command wrote an incident's page on the computer of who reads this page"
    assert foot.startswith('<p id="commands">')
