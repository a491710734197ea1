"""Conversion of messages: skipped entries and required fields."""

import json
import tracemalloc
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from hypothesis import given
from hypothesis import strategies as st

from evictd.clients.cri import decode
from evictd.clients.cri.values import (
    CONTAINER_NAME_LABEL,
    GRACE_PERIOD_ANNOTATION,
    POD_UID_LABEL,
    SandboxState,
)
from evictd.codec.pods.pod import CONFIG_SOURCE
from evictd.core.gc.container_gc import ContainerState
from evictd.errors import RuntimeRefusedError

METADATA = pb.PodSandboxMetadata(name="web", namespace="default", uid="u1")


def test_rows_without_an_identity_are_skipped() -> None:
    whole = pb.Container(id="c", metadata=pb.ContainerMetadata(name="main"), image=pb.ImageSpec(image="i"))
    rows = [
        whole,
        pb.Container(id="c2", image=pb.ImageSpec()),
        pb.Container(id="c3", metadata=whole.metadata),
        pb.Container(),
    ]
    assert [row.id for row in decode.containers(rows)] == ["c"]
    boxes = [pb.PodSandbox(id="s", metadata=METADATA), pb.PodSandbox(id="s2"), pb.PodSandbox(metadata=METADATA)]
    assert [row.id for row in decode.sandboxes(boxes)] == ["s"]
    assert decode.images(pb.ListImagesResponse(images=[pb.Image(), pb.Image(id="i")]))[0].id == "i"
    stats = [pb.ContainerStats(), pb.ContainerStats(attributes=pb.ContainerAttributes(id="c"))]
    assert [row.id for row in decode.all_container_stats(pb.ListContainerStatsResponse(stats=stats))] == ["c"]


def test_of_ten_thousand_containers_only_what_is_read_stays_in_memory() -> None:
    """Else a node with many dead containers, or one author's large annotations, costs tens of MiB that never come back."""
    long = {"note": "x" * 100_000}
    rows = [
        pb.Container(
            id=f"c{number}", pod_sandbox_id="s", metadata=pb.ContainerMetadata(name="main"), image=pb.ImageSpec(image="i" * 300),
            image_ref="r" * 300, labels={POD_UID_LABEL: "u", CONTAINER_NAME_LABEL: "main", "app": "l" * 300},
            annotations={GRACE_PERIOD_ANNOTATION: "7", "io.kubernetes.container.hash": "h" * 300},
        )
        for number in range(1000)
    ]  # fmt: skip
    boxes = [
        pb.PodSandbox(id=f"s{number}", metadata=METADATA, annotations={CONFIG_SOURCE: "api", **long})
        for number in range(10)
    ]
    tracemalloc.start()
    containers, sandboxes = decode.containers(rows), decode.sandboxes(boxes)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (containers[0].pod_uid, containers[0].container_name) == ("u", "main")
    assert containers[0].annotations == {GRACE_PERIOD_ANNOTATION: "7"}
    assert sandboxes[0].annotations == {CONFIG_SOURCE: "api"}
    assert kept < 1_000_000


@pytest.mark.parametrize("missing", ["id", "metadata", "created_at", "name", "namespace", "uid"])
def test_a_sandbox_status_must_have_the_fields_that_the_kubelet_requires(missing: str) -> None:
    status = pb.PodSandboxStatus(id="s", metadata=METADATA, created_at=1)
    holder: Any = status if missing in {"id", "metadata", "created_at"} else status.metadata
    holder.ClearField(missing)
    with pytest.raises(RuntimeRefusedError, match="PodSandboxStatus: the runtime's answer lacks"):
        decode.sandbox_status(pb.PodSandboxStatusResponse(status=status))


@pytest.mark.parametrize("missing", ["id", "metadata", "created_at", "image", "image_ref"])
def test_a_container_status_must_have_the_fields_that_the_kubelet_requires(missing: str) -> None:
    metadata, image = pb.ContainerMetadata(name="main"), pb.ImageSpec(image="i")
    status = pb.ContainerStatus(id="c", metadata=metadata, created_at=1, image=image, image_ref="r")
    decode.container_status(pb.ContainerStatusResponse(status=status))
    status.ClearField(missing)  # type: ignore[arg-type]
    with pytest.raises(RuntimeRefusedError, match="ContainerStatus: the runtime's answer lacks"):
        decode.container_status(pb.ContainerStatusResponse(status=status))


def test_an_unknown_state_may_run() -> None:
    row = pb.Container(id="c", metadata=pb.ContainerMetadata(), image=pb.ImageSpec(), state=77)  # type: ignore[arg-type]
    (container,) = decode.containers([row])
    assert container.state is ContainerState.UNKNOWN
    assert container.state.may_run
    box = pb.PodSandbox(id="s", metadata=METADATA, state=77)  # type: ignore[arg-type]
    assert decode.sandboxes([box])[0].state is SandboxState.READY


def test_absent_amounts_are_none_and_not_zero() -> None:
    stats = pb.ContainerStats(
        attributes=pb.ContainerAttributes(id="c"),
        memory=pb.MemoryUsage(timestamp=5, working_set_bytes=pb.UInt64Value(value=0)),
    )
    (row,) = decode.all_container_stats(pb.ListContainerStatsResponse(stats=[stats]))
    assert row.memory is not None
    assert (row.memory.working_set_bytes, row.writable_layer) == (0, None)


def test_a_filesystem_that_was_never_read_has_no_numbers() -> None:
    """Containerd sends 0 at time 0 until its first collection."""
    zero = pb.UInt64Value(value=0)
    answer = pb.ImageFsInfoResponse(
        image_filesystems=[pb.FilesystemUsage(used_bytes=zero, inodes_used=zero)],
        container_filesystems=[pb.FilesystemUsage(timestamp=9, used_bytes=zero, inodes_used=zero)],
    )
    info = decode.image_fs_info(answer)
    assert (info.image_filesystems[0].used_bytes, info.image_filesystems[0].inodes_used) == (None, None)
    assert (info.container_filesystems[0].used_bytes, info.container_filesystems[0].inodes_used) == (0, 0)


def test_the_verbose_form_of_containerd() -> None:
    info = {
        "pid": 5,
        "snapshotKey": "k",
        "config": {"linux": {"cgroup_parent": "/kubepods/podu1"}},
        "runtimeSpec": {"process": {"oomScoreAdj": -997}, "linux": {"cgroupsPath": "/kubepods/podu1/s"}},
    }
    assert decode.cgroups_path({"info": json.dumps(info)}) == "/kubepods/podu1/s"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["runtimeSpec", "linux", "cgroupsPath", "process"]), inner)
    ),
)


@given(JSON.map(json.dumps) | st.text())
def test_no_verbose_text_is_an_error(text: str) -> None:
    path = decode.cgroups_path({"info": text})
    assert path is None or type(path) is str


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"image": 5}', '{"other": "x"}', "[" * 100_000])
def test_a_verbose_response_of_another_form_is_empty(text: str) -> None:
    assert decode.text_in({"info": text}, "info", "image") == ""
    assert decode.text_in({}, "info", "image") == ""


def test_no_depth_of_verbose_json_is_an_error() -> None:
    assert decode.cgroups_path({"info": "[" * 100_000}) is None


def test_a_version_is_converted() -> None:
    version = decode.version(
        pb.VersionResponse(runtime_name="containerd", runtime_version="1", runtime_api_version="v1")
    )
    assert (version.runtime_name, version.runtime_version, version.runtime_api_version) == ("containerd", "1", "v1")


def test_a_missing_image_is_none() -> None:
    assert decode.image_status(pb.ImageStatusResponse()) is None
