# The chores. Each target does its own set-up: a fresh clone needs only Python >= 3.11, make and git.
#   make demo    run the first notebook and explain its outcome
#   make test    everything a change must pass

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.set-up

NBVAL  := --nbval --nbval-current-env --nbval-sanitize-with tests/notebook/sanitize.cfg
PURE   := $(addprefix tests/,spec planning history machine sessions views)

# Tools and the shell steps of workflows find the same Python first; a caller's PYTHONPATH would shadow the venv.
# With a caller's PYTHONDONTWRITEBYTECODE each process of the tests would compile everything again.
# Times are shown in the local zone; recorded notebooks and golden texts have UTC.
export TZ := UTC
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup browser-setup wire-setup test test-all lint types contracts unit sweeps quick demo lab crashes simulate trials mutants bench costs peers realllm real-agents docs pages record film build fix clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv with everything a developer needs (once; again when pyproject.toml changes)

$(STAMP): pyproject.toml
	@command -v "$(PYTHON)" > /dev/null || { echo "make: no '$(PYTHON)' here; name a Python >= 3.11: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { echo "make: pixirnb needs Python >= 3.11; '$(PYTHON)' says: $$("$(PYTHON)" -V 2>&1 | head -n 1); name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV) (once, a minute or two)"
	@$(PY) -m pip --version > /dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV) || { echo "make: could not make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@# With it, each import of jsonschema builds 38 parsers: two seconds, in every process of pytest and Jupyter. Nothing checks an IRI.
	@$(PY) -m pip uninstall --quiet --yes rfc3987-syntax
	@touch $@

test: lint types contracts unit costs ## everything a change must pass: lint, format, types, import contracts, tests, notebooks, costs

test-all: test sweeps crashes simulate trials mutants bench ## and what takes longer: every variant, crash points, worlds, planted bugs, figures

sweeps: $(STAMP) browser-setup wire-setup ## the variants and examples that `make test` leaves out (docs/internals/sweeps.md)
	@ALL_EXAMPLES=1 $(PY) -m pytest -n 3 --dist loadfile -m 'sweep or hypothesis' tests

lint: $(STAMP) ## ruff: rules and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(STAMP) ## mypy, strict, over code and tests
	@$(PY) -m mypy

contracts: $(STAMP) ## import-linter: imports only go down the floors
	@$(VENV)/bin/lint-imports --no-logo

browser-setup: ## a Chromium for the browser tests: from apt when root, else the one on PATH or in CHROME
	@.ci/browser

wire-setup: ## what the tests use of others, from npm where node is there: a model server, an audit of accessibility
	@.ci/wire

unit: $(STAMP) browser-setup wire-setup ## pytest: the tests, and beside them real browsers and the notebooks
	@# In the order of their names: the browsers wait more than they work, and come among the first.
	@$(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder tests notebooks $(NBVAL)

quick: lint types ## within a minute: lint, format, types, and the tests of the pure floors
	@$(PY) -m pytest -q -n 2 --dist loadfile $(PURE)

demo: $(STAMP) ## run the first notebook, show how its runs ended, and explain what you saw
	@$(PY) .ci/demo.py

lab: $(STAMP) ## open the notebooks in JupyterLab
	@$(PY) -m jupyterlab notebooks

crashes: $(STAMP) ## fail at every operation of seven workflows, and count what was lost (the long form; POINTS="--shapes chain")
	@$(PY) -m harness.crash_points $(POINTS)
	@$(PY) -m harness.crash_points.merges --doubles 7

simulate: $(STAMP) ## live through SEEDS=1000 worlds [FROM=0]; or see one again with SEED=n
	@$(PY) -m harness.simulator $(if $(SEED),--seed $(SEED) --show,--seeds $(or $(SEEDS),1000) --from $(or $(FROM),0))
	@$(if $(SEED),,$(PY) -m harness.cluster --seeds $(or $(SEEDS),1000) --from $(or $(FROM),0))

trials: $(STAMP) ## run on real clusters whose workers, nannies, schedulers and drivers are killed, frozen and cut off, TRIALS=200 times
	@$(PY) -m harness.cluster_trials --trials $(or $(TRIALS),200) --jobs 3

mutants: $(STAMP) ## plant bugs, one at a time, and name who of the auditor's rules catches each (BUGS="one-slot-more …")
	@$(PY) tests/mutants/plant.py $(BUGS)

costs: $(STAMP) ## compare syncs and calls of a step with the kept baseline (KEEP=1 keeps today's)
	@$(PY) benchmarks/bench_costs.py $(if $(KEEP),--keep,--strict)

peers: $(STAMP) ## measure beside other engines, from PyPI, with the harness of a folder (HARNESS=DIR), and write the page
	@$(PY) benchmarks/peers/beside.py $(HARNESS)
	@$(PY) docs/_ext/write_pages.py

bench: $(STAMP) ## run every benchmarks/bench_*.py and print its figures
	@$(PY) benchmarks/bench.py $(if $(KEEP),--keep)

realllm: $(STAMP) ## a small real model, offline, takes a workflow of two steps to its end (docs/how-to/real-model.md; 200 MB once)
	@$(PY) .ci/real_model.py build/realllm

real-agents: $(STAMP) ## try real coding agents, from npm, against a provider on loopback; writes docs/reference/real-agents.md (a gigabyte once)
	@.ci/agents
	@$(PY) .ci/real_agents.py build/agents $(AGENTS)

docs: $(STAMP) ## the site in build/docs, a warning being an error
	@$(PY) -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

pages: $(STAMP) ## run every block of the pages for users, and write what it prints now (PAGES="docs/faq.md …")
	@$(PY) -m tests.followed_pages $(PAGES)

record: $(STAMP) ## run the notebooks, and keep the outputs that they show now (NOTEBOOKS="notebooks/01_first_run.ipynb …")
	@$(PY) .ci/record.py $(NOTEBOOKS)

film: $(STAMP) browser-setup ## film the live view for README and the docs
	@$(PY) .ci/film.py

build: $(STAMP) ## wheel and sdist in dist/
	@$(PY) -m build --quiet 2>/dev/null --outdir dist || $(PY) -m build --outdir dist
	@ls dist

fix: $(STAMP) ## let ruff mend and format, and write what pages say of the code
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .
	@$(PY) docs/_ext/write_pages.py

clean: ## remove what the targets made, .venv too
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
