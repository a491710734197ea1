"""Is evictd's answer one that the kubelet gave? `make parity` compares every vector and closes with `N passed, 0 failed`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.parity.evaluate import evaluate, read_lines

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
ONE_VERDICT = frozenset({"thresholds", "image-gc"})
"""Kinds of documents whose values are compared as one."""


def mismatches(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a verdict for each comparison in a document: its name, and what is wrong ("" where nothing is)."""
    name, expect, answer = document.get("name") or document["kind"], document["expect"], evaluate(document)
    if "error" in expect:
        yield name, "" if "error" in answer else "the kubelet refuses this configuration"
    elif "error" in answer:
        yield name, answer["error"]
    elif "outcomes" in expect:
        yield (
            name,
            "" if answer["outcome"] in expect["outcomes"] else _difference(answer["outcome"], expect["outcomes"]),
        )
    elif "values" not in expect or "values" not in answer:
        yield name, "" if "values" not in expect and "values" not in answer else f"{answer} is not {expect}"
    elif len(answer["values"]) != len(expect["values"]):
        yield name, f"{len(answer['values'])} values, the kubelet gives {len(expect['values'])}"
    else:
        pairs = list(zip(answer["values"], expect["values"], strict=True))
        wrong = [f"[{index}] {ours} is not {theirs}" for index, (ours, theirs) in enumerate(pairs) if ours != theirs]
        if document["kind"] in ONE_VERDICT:
            yield name, "; ".join(wrong)
        else:
            yield from (
                (f"{name}[{i}]", "" if ours == theirs else f"{ours} is not {theirs}")
                for i, (ours, theirs) in enumerate(pairs)
            )


def comparisons(document: dict[str, Any]) -> int:
    """Return the number of comparisons in a document, without evaluating it."""
    return 1 if document["kind"] in ONE_VERDICT else len(document["expect"].get("values", ("one",)))


def _difference(ours: Any, theirs: list[Any]) -> str:
    """Show the first place where the nearest of the kubelet's outcomes differs."""
    if not isinstance(ours, list):
        return f"{ours} is none of {theirs}"

    def agreement(outcome: list[Any]) -> int:
        return next((i for i, (a, b) in enumerate(zip(ours, outcome, strict=True)) if a != b), len(ours))

    nearest = max(theirs, key=agreement)
    at = agreement(nearest)
    return f"step {at}: {ours[at]} is not {nearest[at]}"


def vector_files() -> list[Path]:
    """List the vector files that ship with the tests."""
    return sorted(VECTORS.glob("*.jsonl.gz"))


def main(paths: list[str]) -> int:
    """Compare whole files and print every mismatch, then the count."""
    passed = failed = 0
    for path in [Path(path) for path in paths] or vector_files():
        for document in read_lines(path):
            for name, wrong in mismatches(document):
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f"{path.name}: {name}: {wrong[:2000]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
