# Two commands on a machine that has Python 3.11 and make: `make demo` and `make test`.
#
# Both build .venv first, from requirements.lock with hashes, and again only when the lock or pyproject.toml
# changed. Everything stays inside this folder; nothing is taken from the home directory.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

# The interpreter that makes .venv; empty: python3.11, else a python3 that is new enough.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9

export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP_INSTALL := $(BIN)/python -m pip install --quiet --no-input

.PHONY: help demo test browser-test audits faults faults-quick lock bench clean

help: ## say what can be made
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 18

demo: $(VENV)/project.stamp ## run the reference benchmark and leave a report
	@$(BIN)/python -m orchestrator --config configs/reference.toml
	@report=$$(ls -td runs/reference-*/report.html | head -n 1); \
	echo; echo "Report: $$report (text: $${report%.html}.md)"

test: $(VENV)/project.stamp ## lint, types, import rules, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

browser-test: $(VENV)/browser.stamp ## save an encounter through the real page, in Debian's chromium
	$(BIN)/pytest -rs tests/browser

audits: $(VENV)/project.stamp ## audit our own providers and write the audits that they ship
	$(BIN)/python -m orchestrator audit --config configs/reference.toml -o providers/mockmed/anchor.audit.json
	$(BIN)/python -m orchestrator audit --config configs/full.toml -o providers/mockmed/full.audit.json
	$(BIN)/python -m orchestrator audit --config configs/ladder.toml -o providers/records/ladder.audit.json
	$(BIN)/python -m orchestrator audit --config configs/variants.toml -o providers/records/variants.audit.json
	$(BIN)/python -m orchestrator audit --config configs/generated.toml -o configs/generated.audit.json
	$(BIN)/python -m orchestrator audit --config configs/ladder-postgres.toml -o configs/ladder-postgres.audit.json
	$(BIN)/python -m orchestrator audit --config configs/tickets.toml -o configs/tickets.audit.json
	$(BIN)/python -m orchestrator audit --config configs/invoices.toml -o configs/invoices.audit.json

faults: $(VENV)/project.stamp ## break everything on purpose, an hour of it, and write docs/fault-card.md
	$(BIN)/pytest tests/faults --faults=full

faults-quick: $(VENV)/project.stamp ## ten minutes of the same
	$(BIN)/pytest tests/faults --faults=quick

bench: $(VENV)/project.stamp ## measure speed and memory on this machine
	@for script in $$(grep -l '^if __name__' benchmarks/*.py); do \
	    $(BIN)/python -m "benchmarks.$$(basename "$$script" .py)"; \
	done

lock: $(VENV)/project.stamp ## write requirements.lock anew from pyproject.toml
	$(PIP_INSTALL) uv==$(UV_VERSION)
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	    --group dev --group build pyproject.toml --output-file requirements.lock.new
	@{ echo "# Every package of .venv, pinned and hashed, for Python 3.11 and later. Written by: make lock"; \
	   cat requirements.lock.new; } > requirements.lock
	@rm requirements.lock.new

clean: ## remove .venv and caches; runs stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The project itself, so that its commands and entry points are found. Its build backend stands in the lock, and
# --no-build-isolation keeps pip from fetching another one.
$(VENV)/project.stamp: $(VENV)/lock.stamp pyproject.toml
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q spec models arms oracle providers orchestrator  # a second of every start
	@touch $@

$(VENV)/lock.stamp: requirements.lock $(BIN)/python
	@echo "Installing the locked packages into $(VENV)"
	@$(PIP_INSTALL) --require-hashes --requirement requirements.lock
	@touch $@

# Only for `make browser-test`: its client drives a browser of the system and brings none.
$(VENV)/browser.stamp: requirements-browser.lock $(VENV)/project.stamp
	@$(PIP_INSTALL) --require-hashes --requirement requirements-browser.lock
	@touch $@

# No prerequisite: a venv is made once. A half-made one is removed, so that the next call starts clean.
$(BIN)/python:
	@new_enough() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	found=""; \
	for candidate in $(or $(PYTHON),python3.11 python3); do \
	    if new_enough "$$candidate"; then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "Python 3.11 or later is needed and was not found (tried: $(or $(PYTHON),python3.11 python3))." >&2; \
	    echo "On Debian: apt-get install python3.11 python3.11-venv. Elsewhere: make PYTHON=/path/to/python" >&2; \
	    exit 2; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "$$found has no venv module. On Debian: apt-get install python3.11-venv" >&2; \
	    exit 2; \
	fi; \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); exit 2; }
