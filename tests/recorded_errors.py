"""Error reporters for tests."""


class RecordedErrors(list[tuple[str, str]]):
    """Keeps the errors reported so far, as (source, detail)."""

    @property
    def details(self) -> list[str]:
        return [detail for _, detail in self]

    def report_error(self, source: str, detail: str) -> None:
        self.append((source, detail))


class NoErrors:
    """Fails the test at the first error."""

    def report_error(self, source: str, detail: str) -> None:
        raise AssertionError(f"{source}: {detail}")
