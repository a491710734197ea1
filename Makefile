# The two commands of the README are `make demo` and `make test`; the rest are their parts.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SUITE  ?= core
ARGS   ?=

.PHONY: setup demo run test check parity bench verify-signals test-vm e2e-soak clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/evictd demo $(ARGS)

run: setup
	$(BIN)/evictd run $(ARGS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/test_layout.py

test: check
	$(BIN)/pytest $(ARGS)
	$(BIN)/python -m tests.vm

test-vm: setup
	$(BIN)/python -m tests.vm $(ARGS)

verify-signals: setup
	$(BIN)/python -m tests.tools.verify_signals

e2e-soak: setup
	$(BIN)/python -m tests.e2e.soak $(ARGS)

parity: setup
	$(BIN)/python -m tests.parity.compare

bench: setup
	$(BIN)/python -m bench $(SUITE)

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache
