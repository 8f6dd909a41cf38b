# From a fresh clone: `make demo` and `make test` do all set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test check fuzz bench tables clean

demo: .venv/installed
	mkdir -p demo
	$(BIN)/hamiltone enhance examples/noisy.wav -o demo/enhanced.wav --overwrite
	@echo 'Listen: examples/noisy.wav (a synthetic voice in noise) and demo/enhanced.wav.'

test: .venv/developing
	$(BIN)/python -m pytest

check: .venv/developing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Broken files through the command line: `make fuzz MINUTES=60 SEED=1`; the same command goes on where it stopped.
MINUTES ?= 10
SEED ?= 0
fuzz: .venv/developing
	cd tests && ../$(BIN)/python -m fuzz.run --minutes $(MINUTES) --seed $(SEED) --state ../.venv/fuzz-$(SEED).json

bench: .venv/installed
	$(BIN)/python -m hamiltone.benchmark.page

# The paper's tables and figures in full (about an hour); `hamiltone reproduce all --quick` takes minutes.
tables: .venv/developing
	$(BIN)/hamiltone reproduce all

clean:
	rm -rf .venv build dist demo

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

# The metrics include pesq, which is built from source; without a C compiler the tests that need them are skipped.
.venv/developing: .venv/installed
	$(PIP) --editable '.[dev]'
	$(PIP) --editable '.[metrics]' || echo 'The metrics could not be installed (is there a C compiler?): their tests will be skipped.'
	touch $@
