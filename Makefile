# Needs Python 3.11 or newer (with venv), git and make. Everything else comes from requirements.lock into .venv.
PYTHON ?= python3
TIER ?= smoke
PYTEST_ARGS ?= -n logical --maxprocesses 4 --dist loadgroup
LOCK_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/stamp-locked
INSTALLED := $(VENV)/stamp-installed

.PHONY: test reproduce methods clicks table2 streams lint lock wheel clean
.DEFAULT_GOAL := test

test: $(INSTALLED)
	$(BIN)/pytest $(PYTEST_ARGS)

reproduce: $(INSTALLED)
	$(BIN)/pianobench reproduce --tier $(TIER)

# The stored table of methods and docs/methods.md, in about 25 minutes; what the store holds is not measured again.
methods: $(INSTALLED)
	$(BIN)/python -m pianobench.experiments.methods_table

# docs/fastest.md: `auto` against other libraries, at two threads, and against our own methods. It takes an evening or two
# and goes on where it was interrupted; the module takes options for less.
fastest: $(INSTALLED)
	$(BIN)/python -m pianobench.experiments.fastest_table

# Table 1 of docs/click_data.md; by estimate two hours on two quiet cores. The module takes options for less.
clicks: $(INSTALLED)
	$(BIN)/python -m pianobench.experiments.clicks.table

# Table 2 of docs/streams.md; by estimate 40 minutes on a quiet core, the rows encoded once. The module takes options.
table2: $(INSTALLED)
	$(BIN)/python -m pianobench.experiments.streams.table2

# Streams with drift, the flaws of the rule, and the figures of docs/streams.md; about 7 minutes on one quiet core.
streams: $(INSTALLED)
	$(BIN)/python -m pianobench.experiments.streams.measure

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Keeps the locked versions that still fit; LOCK_ARGS=--upgrade takes the newest. One version for all of 3.11 to 3.14,
# so that numbers of two machines differ by their Python alone.
lock: $(INSTALLED)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	  --extra test --extra dev --generate-hashes --no-annotate --custom-compile-command "make lock" \
	  $(LOCK_ARGS) -o requirements.lock pyproject.toml

wheel: $(INSTALLED)
	$(BIN)/python -m build --no-isolation

# Leaves .venv and results/runs alone.
clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find algorithms datasets experiments problems results plots src tests -name __pycache__ -prune -exec rm -rf {} +

# A changed lock file means a new environment: what an old one holds besides would go unnoticed.
$(LOCKED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pianobench needs Python 3.11 or \
	newer, and $(PYTHON) is older or missing. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# The locked build backend builds the editable install too, so nothing unlocked is fetched.
$(INSTALLED): $(LOCKED) pyproject.toml src/pianobench/__init__.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
