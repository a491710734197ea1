# `make test` is for every change and every user; .ci/run runs `make test-all`. docs/development.md describes the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SUITE  ?= core
ARGS   ?=
# Some tests wait more than they compute.
JOBS   ?= $(shell expr $$(nproc) + 1)
SLOW_JOBS ?= 4
NODE_JOBS ?= 4
# The container runtime of test-node: empty for containerd 1 and CRI-O, or one of containerd1, containerd2, crio; that of
# verify-signals: empty for containerd, or crio.
RUNTIME ?=
RUNTIMES := containerd1 containerd2 crio
CLUSTER_JOBS ?= 3
# The release of Debian that the virtual machine of test-vm is: bookworm, trixie or forky.
DIST   ?= bookworm

# A test is in exactly one of these, test-cluster and test-vm, by its marks (pyproject.toml).
ANYWHERE     := not (root or containerd or cluster or vm or slow)
SLOW         := slow and not (root or containerd or cluster or vm)
SLOW_FILES    = $(shell grep -rl --include='test_*.py' 'mark\.slow' tests)
# The longest files: begun last, one of them would keep the level waiting.
NODE_LONGEST := $(addprefix tests/,tools/test_image.py e2e/test_disk.py crio/test_stories.py e2e/test_memory_and_pids.py e2e/test_daemon.py e2e/test_hostile_pods.py)
NODE_FILES    = $(NODE_LONGEST) $(filter-out $(NODE_LONGEST),$(shell grep -rlE --include='test_*.py' 'mark\.(root|containerd|crio)' tests))
CLUSTER_LONGEST := $(addprefix tests/cluster/,test_culprits.py test_daemon_set.py test_rollout.py)
# tests/conftest.py refuses a test whose file these do not find.
CLUSTER_FILES = $(CLUSTER_LONGEST) $(filter-out $(CLUSTER_LONGEST),$(shell grep -rlE --include='test_*.py' 'mark\.cluster|tests\.kube\.api' tests))
NEEDS_NODE   := (root or containerd) and not (cluster or vm or side_by_side)$(if $(RUNTIME), and $(if $(filter $(RUNTIME),$(RUNTIMES)),containerd and $(if $(filter crio,$(RUNTIME)),crio,not crio),$(error RUNTIME=$(RUNTIME): none of $(RUNTIMES))))

# Each of the many processes of the tests would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo run check test side-by-side test-slow test-node test-cluster test-vm test-vm-forky test-vms test-all test-matrix test-arm64 vm-matrix node-matrix deb-matrix laws parity bench verify-signals e2e-soak mutate flaky fuzz reliability soak sbom audit reference docs deb clean incidents adversary release verify-release conformance

help:
	@echo 'make demo         evictd on a disposable node under pressure (root; else simulated), under a minute'
	@echo 'make run          evictd on this machine; ARGS="--dry-run --config config/evictd.yaml"'
	@echo 'make test         what any user can run, two minutes'
	@echo 'make check        format, lint, types, layers; half a minute'
	@echo 'make test-all     everything, half an hour; root'
	@echo 'make bench        measurements; SUITE=core, calm, ... (docs/benchmarks.md)'
	@echo 'make incidents    the recorded incidents under both policies'
	@echo 'make docs         the documentation as a site in build/site'
	@echo 'make deb          the Debian package; make release: all artifacts, signed'
	@echo 'make clean        remove build and the caches'
	@echo 'docs/development.md describes the others.'

# Makes the virtual environment with evictd and the packages of these files, and the target.
define install
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --no-deps $(1)
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@
endef

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo 'Installing evictd and the tools of its tests into $(VENV): one to two minutes.'
	$(call install,--requirement constraints.txt)

# The demo needs a fifth of what the tests need; the whole set-up serves too.
demo: $(if $(wildcard $(VENV)/.ready),setup,$(VENV)/.demo)
	@$(BIN)/evictd demo $(ARGS)

$(VENV)/.demo: pyproject.toml requirements.txt requirements-plot.txt
	@echo 'Installing evictd into $(VENV): one to two minutes.'
	$(call install,--requirement requirements.txt --requirement requirements-plot.txt)

run: setup
	$(BIN)/evictd run $(ARGS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/test_layout.py

# The coverage of the core is what its own tests reach: measured in all of them, it would double their processor time.
test: setup
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m '$(ANYWHERE)' --ignore=tests/core $(ARGS)
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m '$(ANYWHERE)' --cov=evictd.core tests/core

# The laws over whole small worlds and over many generated ones, and the table of faults, which waits more than it computes; any user.
test-slow: setup
	$(BIN)/pytest -n $(SLOW_JOBS) --dist worksteal -m '$(SLOW)' $(SLOW_FILES) $(ARGS)
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m '$(ANYWHERE)' --hypothesis-profile=thorough tests/laws $(ARGS)

# Plays config/incidents under both policies, prints what each cost, and writes docs/incidents.md.
incidents: setup
	$(BIN)/python -m tools.incidents --write $(ARGS)

# The tenant that costs its neighbours the most pods, as a file for `evictd simulate`; ARGS='--seconds 600 --seed 3 --write FILE'.
adversary: setup
	@$(BIN)/python -m tools.adversary $(ARGS)

# Needs root and containerd, which it downloads if it is missing. The tests of a file share a node, so one worker runs them.
# Those of a real CRI-O need $EVICTD_CRIO (docs/development.md); RUNTIME=crio runs them alone. containerd 2 is Debian 14's.
test-node: setup
	EVICTD_RUNTIME=$(RUNTIME) $(BIN)/pytest -n $(NODE_JOBS) --dist loadfile --no-loadscope-reorder -m '$(NEEDS_NODE)' $(NODE_FILES) $(ARGS)

# test-node on each runtime, one after the other, with the table in docs/compatibility.md; ARGS=containerd2 for one.
node-matrix: setup
	$(BIN)/python -m tests.tools.runtimes $(ARGS)

# Needs the programs of a real Kubernetes in $KUBEBUILDER_ASSETS; without them the tests are skipped with instructions.
# A cluster and a node for each worker.
test-cluster: setup
	$(BIN)/pytest -n $(CLUSTER_JOBS) --dist loadfile --no-loadscope-reorder -m 'cluster and not side_by_side' $(CLUSTER_FILES) $(ARGS)

# `make test` under the Python of Debian 12, 13 and 14, one after the other (ARGS='forky' for one), and the table in
# docs/compatibility.md. Needs root and Debian's mmdebstrap; some minutes each, and as many once to install the release.
test-matrix: setup
	$(BIN)/python -m tests.tools.matrix $(ARGS)

# evictd and its unit tests as programs of arm64 under qemu-user, with the wheels of arm64; needs Debian's qemu-user-static.
test-arm64: setup
	$(BIN)/python -m tests.tools.arm64 $(ARGS)

# The Debian packages of these releases in build/RELEASE, each for its Python, installed and tried without a network.
deb-matrix: setup
	$(BIN)/python -m tests.tools.matrix --deb $(ARGS)

# Not part of test-all: some 15 minutes, and what two daemons or a daemon and a pod do at the same time can miss its moment.
side-by-side: setup
	$(BIN)/pytest -m side_by_side $(ARGS)

test-vm: setup
	EVICTD_VM_DIST=$(DIST) $(BIN)/python -m tests.vm $(ARGS)

# test-vm on the newest release that is tested. Its archive changes from day to day: where no machine can be built from it, the level
# says so and is not run.
test-vm-forky: setup
	@if EVICTD_VM_DIST=forky $(BIN)/python -m tests.vm --build; then $(MAKE) test-vm DIST=forky; \
	else echo 'test-vm-forky: not run, as the machine of Debian 14 could not be built'; fi

# Both at the same time, as one thread emulates each machine; together they have less than 4 GiB of memory. Each leaves to the other
# some of the long scenarios, which `make test-vm` has all. The output of Debian 14's comes after that of Debian 12's. It is ended
# with this shell, which a background job of a shell is not when Ctrl-C is pressed.
test-vms: setup
	@mkdir -p build; setpriv --pdeathsig TERM $(MAKE) test-vm-forky ARGS="-m 'not debian12'" >build/test-vm-forky.log 2>&1 & forky=$$!; \
	$(MAKE) test-vm ARGS="-m 'not debian14'"; status=$$?; wait $$forky || status=1; cat build/test-vm-forky.log; exit $$status

# test-vm on each release, one after the other, with the table in docs/compatibility.md; some ten minutes each.
vm-matrix: setup
	@status=0; for dist in bookworm trixie forky; do $(MAKE) test-vm DIST=$$dist ARGS=--record || status=1; done; exit $$status

# One after the other: test-node and test-cluster measure the machine that they run on. Each level ends with the seconds of all so far.
test-all:
	@took=; for level in setup check test test-slow test-node test-cluster test-vms; do \
	  began=$$(date +%s); $(MAKE) $$level; status=$$?; \
	  took="$$took $$level $$(($$(date +%s) - began))"; echo "seconds:$$took"; \
	  [ $$status = 0 ] || exit $$status; \
	done

verify-signals: setup
	$(BIN)/python -m $(if $(RUNTIME),tests.$(RUNTIME).verify_signals,tests.tools.verify_signals)

e2e-soak: setup
	$(BIN)/python -m tests.e2e.soak $(ARGS)

# The walk through small worlds, with more of them than `make test-slow`, which prints the number of states; and ten thousand
# generated worlds for the laws about outcomes. Takes some minutes.
laws: setup
	$(BIN)/python -m tests.laws.test_model_check
	$(BIN)/python -m tests.laws.test_consent_model
	$(BIN)/pytest -n $(JOBS) -m slow --timeout=3600 --hypothesis-profile=many tests/laws/test_generated_worlds.py

# Small faults in the core, one at a time: how many of a sample the tests notice (ARGS='--sample 0' for all).
mutate: setup
	$(BIN)/python -m tests.tools.mutate $(ARGS)

# Tests that fail now and then: each level ten times in random order, with and without a processor taken away, hours long
# (ARGS='--runs 3 test').
flaky: setup
	$(BIN)/python -m tests.tools.flaky $(ARGS)

# Inputs for every decoder, from tests/fuzz/corpus: ARGS='--seconds 60' for each target, or the targets' names.
fuzz: setup
	$(BIN)/python -m tests.fuzz $(ARGS)

# Runs the table of faults and writes docs/reliability.md from what came of it; some minutes.
reliability: setup
	$(BIN)/python -m tests.faults.report

# An hour of pods that come and go with random faults, its laws checked from outside; ARGS='--minutes N --seed S'.
soak: setup
	$(BIN)/python -m tests.faults.soak $(ARGS)

# What evictd loads, with licenses and hashes, as CycloneDX JSON.
sbom: setup
	@$(BIN)/python -m tools.supply_chain --sbom

# Known vulnerabilities of what evictd loads. Asks the index of packages, or an OSV server: ARGS='-s osv --osv-url URL'.
audit:
	@command -v pip-audit >/dev/null || { echo "make audit: pip-audit is not installed (pipx install pip-audit)" >&2; exit 2; }
	pip-audit --disable-pip --require-hashes --requirement requirements.txt $(ARGS)

parity: setup
	$(BIN)/python -m tests.parity.compare

bench: setup
	$(BIN)/python -m bench $(SUITE)

# The generated pages of the documentation; a test compares them with the code.
reference: setup
	$(BIN)/python -m tools.reference

docs: reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

# The files of a release of this commit, in build/release/VERSION: packages, image, chart, overlays, documents and what proves them.
release: setup
	$(BIN)/python -m tools.release $(ARGS)

# The commands of docs/verify.md over that release, in a root directory of Debian 13 without a network; ARGS='FOLDER cosign.pub' for
# another one, or one that is signed. Needs root and Debian's mmdebstrap.
verify-release: setup
	$(BIN)/python -m tests.tools.verify_release $(ARGS)

# What this commit was tested with and the results, in build/conformance.md; ARGS=LOG with the output of `make test-all`.
conformance: setup
	$(BIN)/python -m tests.tools.conformance $(ARGS)

# A Debian package in build/: a virtual environment below /usr/lib/evictd, the unit, man pages, completion.
deb: setup
	$(BIN)/python -m tools.debian

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache
