"""What one pod can cost the workers that all pods share, for docs/reliability.md: worker, cost, bound, test."""

from evictd.act.cluster import request_queue
from evictd.act.stop import cgroup_kill, cleanup, termination, victim_cgroups
from evictd.act.trees import ENTRIES_AT_ONCE
from evictd.clients.kube import transport
from evictd.core.eviction.accounts.collecting import RECLAIM_TIMEOUT
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.daemon.telemetry import accept, http
from evictd.observe.cgroups import file_descriptor_cache
from evictd.observe.disk_usage import cache, deleted_files, turns

SHARED_WORKERS = (
    (
        "walk of volumes and logs",
        "a tree of millions of files, or of any depth",
        (
            f"{turns.TURN:,} entries a turn; pods are in {turns._CLASSES} classes by size, each has twice the share of the next; "
            f"one walk a class is under way"
        ),
        "tests/observe/disk_usage/test_turns.py::test_a_pod_of_ten_files_is_renewed_within_five_seconds_beside_ten_of_a_million",
    ),
    (
        "walk, where a filesystem does not answer",
        "the thread of all walks; no observation waits for it",
        f"none: while it hangs the last results stay in use with their age; a problem names it after {cache.STALLED // SECOND} s",
        "tests/observe/disk_usage/test_cache.py::test_a_walk_without_progress_is_a_problem_until_it_makes_some",
    ),
    (
        "deleted files",
        "100,000 descriptors, many mappings, long mount tables, any tree of cgroups",
        (
            f"steps and turns as a walk; a descriptor costs one entry, a process {deleted_files._PROCESS_COST}; "
            f"{file_descriptor_cache._MAX_BYTES >> 20} MiB of a text of /proc, {deleted_files._MAX_CGROUPS:,} cgroups"
        ),
        "tests/observe/disk_usage/test_deleted_files.py::test_descriptors_are_counted_as_entries_in_small_steps",
    ),
    (
        "kill at the end of the grace",
        "a tree of any number of cgroups, processes that fork",
        (
            f"cgroup v2: one write; v1: {cgroup_kill.VISITS:,} cgroups an attempt, the next one goes on from there, and "
            f"{cgroup_kill.ROUNDS} rounds over its processes, which can fork no more; "
            f"{victim_cgroups.FIRST_DELAY // MILLISECOND} ms, doubling to {victim_cgroups.LAST_DELAY // SECOND} s, between two"
        ),
        "tests/act/stop/test_cgroup_kill.py::test_a_tree_of_more_cgroups_than_one_attempt_visits_is_gone_through_by_turns",
    ),
    (
        "kill, where one pod's cgroup refuses",
        "an error",
        "the error is reported, the others are killed",
        "tests/act/stop/test_cgroup_kill.py::test_an_error_of_one_pod_leaves_the_others_to_be_killed",
    ),
    (
        "stop through the runtime",
        "a stop that the runtime never answers",
        (
            f"no step waits; given up {termination.OVERDUE // SECOND} s after the grace, then the sandbox is stopped; "
            f"{termination.LAST_DELAY // SECOND} s at most between two attempts"
        ),
        "tests/act/stop/test_termination.py::test_an_answer_that_is_overdue_is_given_up_and_the_sandbox_stopped",
    ),
    (
        "stop, where one pod raises an exception",
        "an exception that was not foreseen",
        "reported once, the next pod is stopped",
        "tests/act/stop/test_stopper.py::test_an_unforeseen_exception_at_one_pod_is_reported_once_and_the_next_pod_is_stopped",
    ),
    (
        "requests to the API server",
        "a request for a pod that hangs in a webhook",
        (
            f"conditions and stops wait for no request; {transport.READ_SECONDS:.0f} s for one request, then the others, "
            f"{request_queue.PER_SECOND} a second"
        ),
        "tests/act/cluster/test_evictor.py::test_a_request_that_hangs_delays_no_stop_of_another_pod",
    ),
    (
        "watch of the API server's pods",
        "an object of 9 MiB, of which a watch has an event and a list has many",
        (
            f"{transport.MAX_WATCH_LINE >> 20} MiB an event; a list above {transport.MAX_BODY >> 20} MiB is read in pages, "
            f"with an eighth of the pods where a page is too large"
        ),
        "tests/clients/kube/test_pods.py::test_a_list_that_is_too_large_comes_in_smaller_pages",
    ),
    (
        "removal of volumes",
        "volumes of millions of entries",
        f"{ENTRIES_AT_ONCE:,} entries a part, then the parts of other pods",
        "tests/act/stop/test_cleanup.py::test_a_pod_with_a_million_entries_does_not_delay_the_others",
    ),
    (
        "removal of volumes that fails",
        "an entry that cannot be removed",
        (
            f"the pod counts as gone; tried again after {cleanup.FIRST_DELAY // SECOND} s, doubling to "
            f"{cleanup.LAST_DELAY // MINUTE} minutes, "
            f"for at most {cleanup.MAX_FAILURES} pods"
        ),
        "tests/act/stop/test_cleanup.py::test_the_number_of_leftovers_that_are_retried_is_bounded",
    ),
    (
        "collection of images and containers",
        "hundreds of dead containers or images to remove, one call each",
        f"a thread of its own, the loop waits for nothing; an eviction waits for it {RECLAIM_TIMEOUT // SECOND} s at most",
        "tests/act/gc/test_collector.py::test_the_loop_is_never_blocked_by_a_runtime_that_does_not_answer",
    ),
    (
        "status and health: connections",
        "connections without end to the probes' address",
        f"{accept.BURST} at once, {accept.PER_SECOND} a second; of each source the newest first",
        "tests/daemon/telemetry/test_accept.py::test_a_flood_is_served_at_a_bounded_rate_and_a_probe_beside_it",
    ),
    (
        "status and health: requests",
        "requests that never end",
        (
            f"{http.MOST_CLIENTS} clients, {http.REQUEST_SECONDS:.0f} s for a whole request; "
            f"of more, the oldest of the source with most is closed"
        ),
        "tests/daemon/telemetry/test_http.py::test_more_idle_clients_than_may_be_open_delay_no_other",
    ),
)
"""In the order of the page."""
