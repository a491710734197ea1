"""Lists what is fuzzed: each decoder of what a pod's author, a server, the kernel or a damaged file may give.

A target takes bytes. It may raise `EvictdError`; any other exception is a fault of evictd.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from cri_api.v1 import api_pb2 as pb
from google.protobuf.message import DecodeError, Message

from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import advise
from evictd.clients.cri import decode as cri
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.nodes import NodeClient, kubelet_reports
from evictd.clients.kube.pods import PodSnapshot, applied
from evictd.clients.kube.transport import LineStream, Reply, error_of
from evictd.codec.pods.manifest import decode_manifest
from evictd.codec.pods.pod import decode_pod, encode_pod
from evictd.codec.pods.slim_pods import decode_event, decode_page
from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.codec.records.journal_record import decode_record
from evictd.codec.records.reading_record import decode_reading
from evictd.codec.scenario import decode_scenario, encode_scenario
from evictd.codec.summary import decode_summary, encode_summary
from evictd.codec.times import format_time, parse_time
from evictd.commands.inputs.prometheus_files import prometheus_summaries
from evictd.commands.inputs.raw_files import _scenario
from evictd.commands.inputs.source import own_config
from evictd.config.build import settings
from evictd.config.file import load_yaml, parse_documents
from evictd.config.flags import NO_FLAGS
from evictd.config.layers import main_layers
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.pod import Pod
from evictd.core.units.duration import format_duration, parse_duration
from evictd.core.units.percentage import parse_percentage
from evictd.core.units.quantity import parse_quantity
from evictd.daemon.store.checkpoint import encode_checkpoint, load_checkpoint
from evictd.daemon.store.known_pods import decode_known_pods
from evictd.daemon.store.state_file import StateFile
from evictd.daemon.telemetry.http import answer, json_page
from evictd.errors import EvictdError, RuntimeRefusedError
from evictd.observe.cgroups.kernel_text import (
    low_watermark_pages,
    parse_count,
    parse_limit,
    parse_pressure,
    parse_stat,
    unallocatable_bytes,
)
from evictd.observe.cgroups.memory import parse_meminfo
from evictd.observe.filesystems.mounts import parse_mountinfo
from evictd.render.advice.advice import advice_document, print_advice
from evictd.render.console import make_console
from evictd.render.history.condition_spans import condition_spans
from evictd.render.history.document import history_document
from evictd.render.history.history import history
from evictd.render.history.page import history_page
from evictd.render.history.table import print_history
from evictd.simulation import simulate
from tests.fuzz.large_trees import size, volume
from tests.fuzz.trees import tree
from tests.kube.raw import fed_transport
from tests.recorded_errors import NoErrors

Target = Callable[[bytes], object]


def text(data: bytes) -> str:
    """Decode as the readers of text do that accept anything."""
    return data.decode("utf-8", "replace")


def quantity(data: bytes) -> None:
    """A quantity can be compared, printed and parsed again."""
    value = parse_quantity(text(data))
    assert parse_quantity(str(value)) == parse_quantity(str(parse_quantity(str(value))))
    assert -(2**63) <= value.value() < 2**63


def duration(data: bytes) -> None:
    """A duration is written and read back."""
    value = parse_duration(text(data))
    assert parse_duration(format_duration(value)) == value


def percentage(data: bytes) -> None:
    """A percentage, which may be infinite or no number as in Go."""
    parse_percentage(text(data))


def time(data: bytes) -> None:
    """A time is written again."""
    format_time(parse_time(text(data)))


# --- the kernel ---


def attempts(*calls: Callable[[], object]) -> None:
    """Make each call; each may raise `EvictdError`."""
    for call in calls:
        try:
            call()
        except EvictdError as error:
            assert str(error)


def cgroup(data: bytes) -> None:
    """The small files of a cgroup: a count, a limit, a table of statistics."""
    attempts(
        lambda: parse_count(data, "f"),
        lambda: parse_limit(data, "f"),
        lambda: parse_stat(data, b"anon", "f"),
        lambda: parse_stat(data, b"inactive_file", "f"),
    )


def pressure(data: bytes) -> None:
    """A PSI file has finite averages."""
    assert all(0 <= line.avg10 < 1000 and line.total_us >= 0 for line in parse_pressure(data, "f").values())


def proc(data: bytes) -> None:
    """/proc/meminfo and /proc/zoneinfo."""
    unallocatable_bytes(parse_meminfo(data), data.decode("ascii", "replace"), 4096)
    low_watermark_pages(data.decode("ascii", "replace"))


# --- JSON and YAML ---


def configuration(data: bytes) -> None:
    """A configuration file, up to the settings."""
    try:
        decoded = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return  # `read_text` refuses it
    settings(main_layers(*parse_documents(decoded, "f"), "f"), NO_FLAGS)


def manifest(data: bytes) -> None:
    """A static pod's manifest."""
    found = load_yaml(text(data))
    if isinstance(found, dict):
        json.dumps(encode_pod(decode_manifest(found).pod))


def scenario(data: bytes) -> None:
    """A scenario is read and written again."""
    found = load_yaml(text(data))
    if isinstance(found, dict):
        json.dumps(encode_scenario(decode_scenario(found)))


def pod(data: bytes) -> None:
    """A v1.Pod is read and written again."""
    json.dumps(encode_pod(decode_pod(data)))


def page(data: bytes) -> None:
    """A page of a pod list."""
    decode_page(data)


def summary(data: bytes) -> None:
    """A kubelet's /stats/summary is read and written again."""
    json.dumps(encode_summary(*decode_summary(data)))


class Chunks:
    """A response that arrives in pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self, _size: int, *, decode_content: bool) -> Iterator[bytes]:
        """Return the body, 97 bytes at a time."""
        assert not decode_content
        yield from (self._data[at : at + 97] for at in range(0, len(self._data), 97))

    def close(self) -> None:
        """Nothing is open."""


def watch(data: bytes) -> None:
    """The events of a watch; one that cannot be decoded ends it."""
    snapshot = PodSnapshot()
    for line in LineStream(Chunks(data)):
        snapshot = applied(snapshot, decode_event(line))
    assert all(snapshot.unread_parts)


def journal(data: bytes) -> None:
    """A journal line is read, decided again and written anew."""
    attempts(lambda: decode_record(data))
    entry = decode_entry(data)
    step = synchronize(entry.state, entry.observation, entry.config, entry.now)
    encode_entry(
        now=entry.now,
        wall=entry.wall,
        state=step.state,
        observation=entry.observation,
        config=entry.config,
        step=step,
    )


def past(data: bytes) -> None:
    """A journal line as `history` and `why` show it: as a document and as a table, each text on one line."""
    events = list(history([decode_record(data)] * 2))
    spans = condition_spans(events)
    json.dumps(history_document(events, spans), allow_nan=False)
    out = StringIO()
    print_history(events, spans, make_console(out))
    assert all(each == "\n" or each.isprintable() for each in out.getvalue() + history_page(events, spans))


def advice(data: bytes) -> None:
    """A journal line as `advise` reads it."""
    given = advise([node_evidence("n", [decode_reading(data)] * 3)], cover=90)
    json.dumps(advice_document(given), allow_nan=False)
    print_advice(given, make_console(StringIO()))


def raw(data: bytes) -> None:
    """What people have: a list of pods, a summary and an answer of Prometheus, here in one file; each is simulated."""
    found = load_yaml(text(data))
    if not isinstance(found, dict) or not isinstance(pods := found.get("items"), list):
        return
    attempts(
        lambda: _simulated(prometheus_summaries([found], pods, "f"), pods),
        lambda: _simulated([found] if isinstance(found.get("node"), dict) else [], pods),
    )


def _simulated(summaries: list[dict[str, Any]], pods: list[Any]) -> None:
    if summaries:
        scenario = _scenario(Path("pods.json"), pods, summaries)
        for _ in islice(simulate(scenario, own_config(scenario, None)), 20):
            pass


class Content(StateFile):
    """A state file in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.path = "state.json"  # type: ignore[assignment] # only named in messages
        self._boot = "b"

    def read(self) -> dict[str, Any] | None:
        """Read the content."""
        return self._open_envelope(self._data)

    def set_aside(self) -> None:
        """Keep the content."""


def state(data: bytes) -> None:
    """A state file gives a checkpoint that can be written; damage is reported, not raised."""
    file = Content(data)

    class Errors:
        def report_error(self, source: str, message: str) -> None:
            """Refuse what `worker.describe` says of an error that is not `EvictdError`."""
            assert source == "state"
            assert not message.startswith("unforeseen"), message

    json.dumps(encode_checkpoint(load_checkpoint(file, Errors(), now=5)))
    decode_known_pods(file.read() or {})


# --- servers ---


class FixedTransport:
    """An API server that gives one response; its first line is the status and its second the date."""

    def __init__(self, data: bytes) -> None:
        status, _, rest = data.partition(b"\n")
        date, _, body = rest.partition(b"\n")
        number = int(status) if status.isdigit() and len(status) == 3 else 200
        self._reply = Reply(status=number, data=body, date=date.decode("latin-1"))

    def request(self, *_: object, accept: frozenset[int] = frozenset(), **__: object) -> Reply:
        """Answer as `Transport.request` does."""
        if self._reply.status >= 300 and self._reply.status not in accept:
            raise error_of(self._reply, "a request")
        return self._reply


_POD = Pod(name="web", namespace="ns", uid="u")


def api(data: bytes) -> None:
    """Responses of the API server: nodes, leases, refusals of evictions."""
    transport: Any = FixedTransport(data)
    node, evictions = NodeClient(transport, "n"), EvictionClient(transport)
    attempts(
        lambda: kubelet_reports(node.get(), None, 0),
        lambda: kubelet_reports(node.get(), node.lease(), 0),
        lambda: evictions.evict(_POD, 1),
        lambda: evictions.mark_evicted(_POD, "m", None, "t"),
    )


def reply(data: bytes) -> None:
    """The bytes of an HTTP response: head, chunks, Retry-After; to a request and to a watch."""
    transport = fed_transport(data)
    attempts(
        lambda: transport.request("GET", "/api/v1/nodes/n").json(),
        lambda: list(transport.stream("/api/v1/pods", query={}, idle_seconds=1)),
    )


_CRI: list[tuple[type[Message], Callable[[Any], object]]] = [
    (pb.ListPodSandboxResponse, lambda answer: cri.sandboxes(answer.items)),
    (pb.PodSandboxStatusResponse, cri.sandbox_status),
    (pb.ListContainersResponse, lambda answer: cri.containers(answer.containers)),
    (pb.ContainerStatusResponse, cri.container_status),
    (pb.ListContainerStatsResponse, cri.all_container_stats),
    (pb.ListImagesResponse, cri.images),
    (pb.ImageStatusResponse, cri.image_status),
    (pb.ImageFsInfoResponse, cri.image_fs_info),
    (pb.VersionResponse, cri.version),
]


def cri_message(data: bytes) -> None:
    """A response of the runtime; its first byte chooses the message."""
    message, convert = _CRI[data[0] % len(_CRI)] if data else _CRI[0]
    try:
        parsed = message.FromString(data[1:])
    except DecodeError as error:  # gRPC refuses the response (`clients.cri.channel`)
        raise RuntimeRefusedError(str(error)) from error
    convert(parsed)


def http(data: bytes) -> None:
    """The head of a request gets a whole answer."""
    found = answer(data, {"/statusz": lambda: json_page({})}, NoErrors())
    assert found.startswith(b"HTTP/1.0 ")
    assert b"\r\n\r\n" in found


TARGETS: dict[str, Target] = {
    "quantity": quantity,
    "duration": duration,
    "percentage": percentage,
    "time": time,
    "cgroup": cgroup,
    "pressure": pressure,
    "proc": proc,
    "mountinfo": parse_mountinfo,
    "configuration": configuration,
    "manifest": manifest,
    "scenario": scenario,
    "pod": pod,
    "page": page,
    "summary": summary,
    "watch": watch,
    "journal": journal,
    "history": past,
    "advice": advice,
    "raw": raw,
    "state": state,
    "api": api,
    "reply": reply,
    "cri": cri_message,
    "http": http,
    "tree": tree,
    "volume": volume,
}
SIZES: Mapping[str, Callable[[bytes], int]] = {"volume": size}
"""What the time of an input may grow with where that is not its length."""
