"""Any file is read completely or refused with one line per fault."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evictd.codec.strict import Word
from evictd.config.file import MAX_BYTES, dump_yaml, load, load_yaml, parse_documents, read_documents
from evictd.config.flags import Flags
from evictd.core.model.config import EvictionConfig, ImageReclaim
from evictd.core.model.oom import MemoryReservationPolicy
from evictd.core.model.threshold import Origin
from evictd.errors import ExitCode, InputError

KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
EVICTD = "apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n"
CONFIGZ = Path(__file__).parent.parent / "data" / "samples" / "configz.json"


def write(folder: Path, text: str | bytes, name: str = "evictd.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path, flags: Flags | None = None) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        load(path, flags or Flags())
    assert caught.value.exit_code is ExitCode.USAGE
    for problem in caught.value.problems:
        assert "\n" not in problem
        assert len(problem) < 1000
    return caught.value.problems


# --- documents --------------------------------------------------------------------------------------------------------


def test_two_documents_give_the_same_in_either_order(tmp_path: Path) -> None:
    kubelet, evictd = KUBELET + "eventBurst: 5\n", EVICTD + "dryRun: true\n"
    first = load(write(tmp_path, f"{kubelet}---\n{evictd}"))
    second = load(write(tmp_path, f"---\n{evictd}---\n{kubelet}---\n"))
    assert first == second
    assert (first.kubelet.event_burst, first.evictd.dry_run) == (5, True)


@pytest.mark.parametrize("text", [KUBELET, EVICTD])
def test_one_document_is_enough_for_the_default_thresholds(tmp_path: Path, text: str) -> None:
    settings = load(write(tmp_path, text))
    assert len(settings.eviction.thresholds) == 6
    assert {one.origin for one in settings.eviction.thresholds} == {Origin.DEFAULT, Origin.DERIVED}


@pytest.mark.parametrize("text", ["", "\n", "# dryRun: true\n", "---\n", "null\n", "\ufeff"])
def test_a_file_without_a_document_is_refused(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert refusal(path) == (f"{path}: the file: is empty; write a document, or start without --config",)


def test_fields_of_newer_kubelets_are_accepted_with_a_warning(tmp_path: Path) -> None:
    text = (
        "defaultPodSysctls: {net.ipv4.ip_forward: '1'}\nmemoryReservationPolicy: TieredReservation\n"
        "evictionHarf: {}\nmemorySwap: {swapLimit: 1Gi}\nreadAheadLimit: 5\n"
    )
    path = write(tmp_path, KUBELET + text)
    ignored = "unknown field of KubeletConfiguration, which has no effect"
    settings = load(path)
    assert settings.warnings == (
        f"{path}: line 5: evictionHarf: {ignored}, so the default thresholds apply; did you mean evictionHard?",
        f"{path}: line 6: memorySwap.swapLimit: {ignored}; a newer kubelet may know it",
        f"{path}: line 7: readAheadLimit: {ignored}; a newer kubelet may know it",
    )
    assert settings.memory_qos_rules().policy is MemoryReservationPolicy.TIERED_RESERVATION


@pytest.mark.parametrize(("version", "accepted"), [("1.36", False), ("1.37", True)])
def test_a_reservation_policy_needs_the_gate_of_its_version(tmp_path: Path, version: str, accepted: bool) -> None:
    own = f'apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\nkubernetesVersion: "{version}"\n'
    path = write(tmp_path, f"{KUBELET}memoryReservationPolicy: TieredReservation\n---\n{own}")
    if accepted:
        assert load(path).memory_qos_rules().policy is MemoryReservationPolicy.TIERED_RESERVATION
    else:
        assert "requires MemoryQoS feature gate to be enabled" in refusal(path)[0]


@pytest.mark.parametrize("policy", ["Soft", "Hard"])
def test_a_reservation_policy_of_a_newer_kubelet_counts_as_none(tmp_path: Path, policy: str) -> None:
    settings = load(write(tmp_path, KUBELET + f"memoryReservationPolicy: {policy}\n"))
    assert settings.memory_qos_rules().policy is MemoryReservationPolicy.NONE
    assert settings.warnings == (
        f'memoryReservationPolicy "{policy}" counts as None: known are None, TieredReservation',
    )


def test_memory_is_throttled_as_the_kubelet_of_the_version_does(tmp_path: Path) -> None:
    """A factor in the file counts; else 0.9 up to 1.36, and none from 1.37 on."""
    own = "apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n"
    unset = load(write(tmp_path, KUBELET))
    assert unset.memory_qos_rules().throttling_factor == 0.9
    assert unset.memory_qos_rules("v1.37.1").throttling_factor is None
    newer = load(write(tmp_path, f'{KUBELET}---\n{own}kubernetesVersion: "1.37"\n'))
    assert newer.memory_qos_rules("v1.36.2").throttling_factor is None
    given = load(write(tmp_path, f'{KUBELET}memoryThrottlingFactor: 0.5\n---\n{own}kubernetesVersion: "1.37"\n'))
    assert given.memory_qos_rules().throttling_factor == 0.5


def test_a_last_line_without_an_end_is_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, KUBELET + "eventBurst: 5")
    assert load(path).warnings == (f"{path}: the last line has no end; a reload refuses such a file",)


def test_without_any_file_there_are_no_thresholds_and_a_warning() -> None:
    settings = load(None)
    assert settings.eviction == EvictionConfig(keep_away=False), "nor an API server"
    (warning,) = settings.warnings
    said = "no configuration file was given, so there are no thresholds, and no pod is evicted for pressure; give "
    assert warning == f"{said}--config FILE, or --eviction-hard (--help-kubelet-flags lists it)"


def test_json_is_read_too(tmp_path: Path) -> None:
    text = '{"apiVersion": "evictd.io\\/v1alpha1",\t"kind": "EvictdConfiguration", "reclaim": {"images": "Off"}}'
    assert load(write(tmp_path, text)).eviction.reclaim_images is ImageReclaim.OFF


def test_what_a_running_kubelet_reports_loads_unchanged() -> None:
    settings = load(CONFIGZ)
    assert settings.eviction.thresholds == ()
    assert settings.kubelet.parent_cgroup == "/evictd-kc"
    assert settings.source == CONFIGZ


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert load(write(tmp_path, b"\xef\xbb\xbf" + KUBELET.encode())).kubelet.event_burst == 100


def test_unquoted_yaml_words_and_dates_stay_texts() -> None:
    documents, problems = parse_documents("a: Off\nb: 2020-01-01\nc: true\nd: 'off'\n", "F")
    assert problems == []
    assert documents == [{"a": "Off", "b": "2020-01-01", "c": True, "d": "off"}]
    assert isinstance(documents[0], dict)
    assert isinstance(documents[0]["a"], Word)
    assert not isinstance(documents[0]["d"], Word)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kind: X\n", 'line 1: kind: "X": unknown kind; give KubeletConfiguration or EvictdConfiguration'),
        (
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfig\n",
            'line 2: kind: "KubeletConfig": unknown kind; did you mean KubeletConfiguration?',
        ),
        ("kind: scenario\n", 'line 1: kind: "scenario": unknown kind; `evictd simulate` reads a scenario'),
        ("kind: World\n", 'line 1: kind: "World": unknown kind; `evictd simulate` reads a world'),
        (
            "kind: Advice\n",
            'line 1: kind: "Advice": unknown kind; `evictd advise --output yaml` writes a configuration',
        ),
        ("a: 1\n", "line 1: kind: is missing; give KubeletConfiguration or EvictdConfiguration"),
        (
            "evictionHard: {pid.available: '1'}\n",
            (
                "line 1: evictionHard: is a field of KubeletConfiguration, but its document has no apiVersion and no kind; begin "
                "the document with the lines `apiVersion: kubelet.config.k8s.io/v1beta1` and `kind: KubeletConfiguration`"
            ),
        ),
        (
            "apiVersion: evictd.io/v1alpha1\ndryRun: true\n",
            (
                "line 2: dryRun: is a field of EvictdConfiguration, but its document has no kind; begin the document with "
                "`kind: EvictdConfiguration`"
            ),
        ),
        (
            KUBELET + "---\nevictionHard: {}\n",
            (
                "line 4: evictionHard: is a field of KubeletConfiguration, but its document has no apiVersion and no kind; begin "
                "the document with the lines `apiVersion: kubelet.config.k8s.io/v1beta1` and `kind: KubeletConfiguration`"
            ),
        ),
        (
            "  a: 1\n  b: 2 # c\n  ---\n  c: 3\n",
            "line 3: --- is indented, so it does not separate two documents; remove the spaces before it",
        ),
        ("kind: KubeletConfiguration\n", "line 1: apiVersion: is missing; give kubelet.config.k8s.io/v1beta1"),
        (
            "kind: EvictdConfiguration\napiVersion: evictd.io/v1\n",
            'line 2: apiVersion: "evictd.io/v1": is not the version of EvictdConfiguration; give evictd.io/v1alpha1',
        ),
        ("- a\n", "line 1: the document: ['a']: is not a map of fields; begin it with apiVersion and kind"),
        (KUBELET + "maxPods: 1\nmaxPods: 2\n", "line 4: maxPods: appears twice; keep one of them"),
        (
            KUBELET + "evictionHard: {pid.available: '1', pid.available: '2'}\n",
            "line 3: evictionHard.pid.available: appears twice; keep one of them",
        ),
        (
            KUBELET + "kind: EvictdConfiguration\n",
            "line 3: kind: appears twice; put a line --- between two documents",
        ),
        (KUBELET + "---\n" + KUBELET, "line 4: document 2: KubeletConfiguration: appears twice; keep one of them"),
        (KUBELET + "5: a\n", "the document: 5: is not the name of a field; put it in quotes"),
        (
            EVICTD + "dryRum: true\n",
            "line 3: dryRum: unknown field; did you mean dryRun?",
        ),
        (
            KUBELET + "evictionHard:\nmemory.available: 5Gi\n",
            "line 4: [memory.available]: is a signal, not a field; indent it with spaces, below evictionHard or its like",
        ),
        (
            KUBELET + "evictionHard:\n\u00a0 memory.available: 5Gi\n",
            "line 4: [\\xa0 memory.available]: is a signal, not a field; indent it with spaces, below evictionHard or its like",
        ),
        (
            KUBELET + "dryRun: true\n",
            "line 3: dryRun: is a field of EvictdConfiguration; move it to the document of kind EvictdConfiguration",
        ),
        (
            KUBELET + "evictionHard:\n\tpid.available: '5'\n",
            "line 4, column 1: found character that cannot start any token; indent with spaces, not tabs",
        ),
        (
            KUBELET + "address: !!python/object/apply:os.system [id]\n",
            (
                "line 3, column 10: the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed; "
                "write the value without a tag"
            ),
        ),
        (KUBELET + "address: *x\n", "line 3, column 10: found undefined alias; check the indentation and the quotes"),
        ("[" * 100_000, "line 1: is nested more than 50 levels deep; make it flat"),
        ('{"a":' * 100_000, "line 1: is nested more than 50 levels deep; make it flat"),
        (KUBELET + "address: &a [*a]\n", "the document: is nested more than 50 levels deep; make it flat"),
    ],
)
def test_a_bad_document_is_refused_in_one_line(tmp_path: Path, text: str, line: str) -> None:
    path = write(tmp_path, text)
    assert refusal(path)[0] == f"{path}: {line}"


def test_a_bomb_of_aliases_is_refused_without_expanding_it(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 30)]
    path = write(tmp_path, KUBELET + "\n".join(lines))
    assert refusal(path)[0] == f"{path}: the document: holds too many values, aliases counted; write it without aliases"


def test_an_alias_or_two_is_fine(tmp_path: Path) -> None:
    text = KUBELET + "evictionHard: &h {pid.available: '5'}\nevictionMinimumReclaim: *h\n"
    (threshold,) = load(write(tmp_path, text)).eviction.thresholds
    assert threshold.min_reclaim == threshold.value


def test_a_hundred_megabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 100 * 2**20)
    assert refusal(path) == (f"{path}: 104857600 bytes: is too large; at most {MAX_BYTES} bytes are read",)


def test_too_many_values_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "[" + "a," * 300_000 + "]")
    assert "holds more than 50000 values" in refusal(path)[0]


def test_what_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, KUBELET.encode() + b"address: \xff\n")
    assert refusal(path) == (f"{path}: byte {len(KUBELET) + 9}: is not UTF-8; save the file as UTF-8",)


def test_a_control_character_is_refused(tmp_path: Path) -> None:
    assert "a control character is not allowed" in refusal(write(tmp_path, "a: \0"))[0]


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == (f"{tmp_path / 'none'}: No such file or directory",)
    assert refusal(tmp_path) == (f"{tmp_path}: Is a directory; give a file in it",)


def test_a_number_of_thousands_of_digits_is_a_wrong_type(tmp_path: Path) -> None:
    assert "maxPods" in refusal(write(tmp_path, KUBELET + "maxPods: " + "9" * 9000))[0]


def test_all_faults_of_both_documents_are_reported_at_once(tmp_path: Path) -> None:
    text = (
        f"{KUBELET}maxPods: x\nevictionHard: {{memory.available: 101%, bogus: 1Gi, nodefs.available: '0', "
        "pid.available: '-1', imagefs.available: ٣Gi, nodefs.inodesFree: 5}\n"
        "evictionSoft: {memory.available: 1Gi, memory.available: 2Gi}\n"
        "evictionPressureTransitionPeriod: '5'\nimageGCLowThresholdPercent: 99\n"
        f"---\n{EVICTD}reclaim: {{image: All}}\nlistenAddress: 0.0.0.0:1\n"
    )
    path = write(tmp_path, text)
    found = [line.removeprefix(f"{path}: line ").split(": ")[1] for line in refusal(path)]
    assert found == [
        "evictionSoft.memory.available",
        "maxPods",
        "evictionHard[nodefs.inodesFree]",
        "evictionHard[memory.available]",
        "evictionHard[bogus]",
        "evictionHard[nodefs.available]",
        "evictionHard[pid.available]",
        "evictionHard[imagefs.available]",
        "evictionSoft[memory.available]",
        "evictionPressureTransitionPeriod",
        "imageGCLowThresholdPercent",
        "reclaim.image",
        "listenAddress",
    ]


def outcome(path: Path) -> tuple[str, ...] | None:
    """Return the faults, or `None` if there is none; any other exception fails the test."""
    try:
        load(path)
    except InputError as error:
        return error.problems
    return None


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_settings_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(raw)
    found = outcome(path)
    assert found is None or (found and all("\n" not in line for line in found))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["evictionHard", "evictionSoft", "maxPods", "memorySwap", "featureGates", "enforceNodeAllocatable", "x"]
)


@settings(deadline=None)
@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_any_types_give_settings_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, fields: dict[str, object]
) -> None:
    path = tmp_path_factory.getbasetemp() / "types.yaml"
    path.write_text(KUBELET + (dump_yaml(fields) if fields else ""), encoding="utf-8")
    found = outcome(path)
    assert found is None or (found and all("\n" not in line for line in found))


# --- drop-ins ---------------------------------------------------------------------------------------------------------


def drop_ins(folder: Path, **files: str) -> Flags:
    directory = folder / "conf.d"
    directory.mkdir()
    for name, text in files.items():
        write(directory, KUBELET + text, f"{name}.conf")
    return Flags(config_dir=directory)


def hard(path: Path | None, flags: Flags) -> dict[str, Origin]:
    return {
        one.signal.value: one.origin
        for one in load(path, flags).eviction.thresholds
        if one.origin is not Origin.DERIVED
    }


def test_a_drop_in_adds_to_the_defaulted_map(tmp_path: Path) -> None:
    flags = drop_ins(tmp_path, a="evictionHard: {memory.available: 200Mi, pid.available: '5'}\n")
    origins = hard(write(tmp_path, KUBELET), flags)
    assert origins["memory.available"] is Origin.SET
    assert origins["pid.available"] is Origin.SET
    assert origins["nodefs.available"] is Origin.DEFAULT
    assert len(origins) == 6


def test_a_null_in_a_drop_in_removes_the_map(tmp_path: Path) -> None:
    flags = drop_ins(tmp_path, a="evictionHard: null\n", b="mergeDefaultEvictionSettings: true\n")
    assert hard(write(tmp_path, KUBELET), flags) == {}


def test_drop_ins_apply_in_lexical_order_sub_folders_included(tmp_path: Path) -> None:
    flags = drop_ins(tmp_path, a="eventBurst: 1\n", c="eventBurst: 3\n")
    assert flags.config_dir is not None
    (flags.config_dir / "b").mkdir()
    write(flags.config_dir / "b", KUBELET + "eventBurst: 2\neventRecordQPS: 2\n", "z.conf")
    write(flags.config_dir, "not: read", "d.yaml")
    settings = load(None, flags)
    assert (settings.kubelet.event_burst, settings.kubelet.event_record_qps) == (3, 2)


def test_a_fault_names_the_drop_in_it_came_from(tmp_path: Path) -> None:
    flags = drop_ins(tmp_path, a="maxPods: -1\n")
    assert flags.config_dir is not None
    assert refusal(write(tmp_path, KUBELET + "podsPerCore: -1\n"), flags) == (
        (
            f"{flags.config_dir / 'a.conf'}: line 3: maxPods: -1: invalid configuration: maxPods (--max-pods) -1 must not be a "
            "negative number"
        ),
        (
            f"{tmp_path / 'evictd.yaml'}: line 3: podsPerCore: -1: invalid configuration: podsPerCore (--pods-per-core) -1 must "
            "not be a negative number"
        ),
    )


def test_a_missing_drop_in_folder_is_refused(tmp_path: Path) -> None:
    assert "is no directory" in refusal(write(tmp_path, KUBELET), Flags(config_dir=tmp_path / "none"))[0]


# --- for others -------------------------------------------------------------------------------------------------------


def test_documents_can_be_read_for_other_purposes(tmp_path: Path) -> None:
    assert read_documents(write(tmp_path, "a: 1\n---\nb: [2]\n")) == [{"a": 1}, {"b": [2]}]
    with pytest.raises(InputError, match="appears twice"):
        read_documents(write(tmp_path, "a: 1\na: 2\n"))


@settings(deadline=None)
@given(VALUES)
def test_what_is_dumped_reads_back(value: object) -> None:
    documents, problems = parse_documents(dump_yaml({"v": value}), "F")
    assert problems == []
    assert documents == [{"v": value}]


def test_a_manifest_may_be_yaml() -> None:
    assert load_yaml("kind: Pod\n") == {"kind": "Pod"}
    assert load_yaml("") is None
    for faulty in ("a: [1\n", "a: 1\na: 2\n"):
        with pytest.raises(InputError, match=r"manifest|twice"):
            load_yaml(faulty)


def test_a_file_that_is_missing_is_answered_with_a_similar_name_beside_it(tmp_path: Path) -> None:
    write(tmp_path, KUBELET).rename(tmp_path / "job-beside-a-database.yaml")
    (tmp_path / "w4e.yaml").touch()
    path = tmp_path / "job-beside-a-databse.yaml"
    assert refusal(path) == (f"{path}: No such file or directory; did you mean job-beside-a-database.yaml?",)
    assert refusal(tmp_path / "nope.yaml") == (f"{tmp_path / 'nope.yaml'}: No such file or directory",), "a far name"
    assert refusal(tmp_path / "other") == (f"{tmp_path / 'other'}: No such file or directory",)
    assert refusal(tmp_path / "nowhere/at-all") == (f"{tmp_path / 'nowhere/at-all'}: No such file or directory",)
