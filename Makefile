# From a fresh clone: `make demo` and `make test` do all set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test check docs fuzz kill bench tables graphs pages web pictures clean

# Runs the bare install and says how long the enhancement took.
demo: .venv/installed
	mkdir -p demo
	$(BIN)/hamiltone enhance examples/noisy.wav -o demo/enhanced.wav --overwrite
	@echo 'Listen: examples/noisy.wav (a synthetic voice in noise) and demo/enhanced.wav.'

# One process per core, one thread each; a file stays in one process, which makes its fixtures once.
JOBS ?= 2
test: .venv/developing web/node_modules/.package-lock.json
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

check: .venv/developing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) docs

# A broken link, a page outside the navigation or a name that does not resolve fails the build; --quiet would hide
# these warnings from --strict.
docs: .venv/developing
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Broken files through the command line: `make fuzz MINUTES=60 SEED=1` or, by number, `make fuzz CASES=10800`; the same
# command goes on where it stopped.
MINUTES ?= 10
CASES ?=
SEED ?= 0
fuzz: .venv/developing
	cd tests && ../$(BIN)/python -m fuzz.run $(if $(CASES),--cases $(CASES),--minutes $(MINUTES)) --seed $(SEED) --state ../.venv/fuzz-$(SEED).json

# Signals at random moments of `enhance` and `train`: what is lost? Half an hour; `make kill MOMENTS=20` takes minutes.
MOMENTS ?= 200
kill: .venv/developing
	cd tests && ../$(BIN)/python -m fuzz.kill --moments $(MOMENTS) --seed $(SEED)

bench: .venv/developing
	$(BIN)/python tools/bench.py

# The paper's tables and figures in full (about two hours); `hamiltone reproduce all --quick` takes minutes.
# DATA=VoiceBank measures on recordings, as the results of this repository were.
tables: .venv/developing
	$(BIN)/hamiltone reproduce all pages $(if $(DATA),--data $(DATA))

# After a bundled checkpoint or a preset has changed: the bundled ONNX graphs and the list of presets.
graphs: .venv/developing
	$(BIN)/python tools/bundle.py

# What is generated of docs/: from the files in results/, without measuring anything.
pages: .venv/developing
	$(BIN)/hamiltone reproduce pages
	$(BIN)/python tools/card.py
	$(BIN)/python tools/quality_plot.py
	$(BIN)/python tools/bench.py --pages
	$(BIN)/python tools/corpus_cost.py --pages

# The page of `hamiltone page`, from web/ to src/hamiltone/page/static; needs Node.
web: web/node_modules/.package-lock.json
	cd web && npm run build

# The pictures of the README: the sample before and after, and the page in Chromium.
pictures: .venv/developing web/node_modules/.package-lock.json
	$(BIN)/python tools/pictures.py

clean:
	rm -rf .venv build dist demo site web/node_modules web/build

# The bare install, without torch.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

# The metrics include pesq, which is built from source; without a C compiler the tests that need them are skipped.
.venv/developing: .venv/installed
	$(PIP) --editable '.[dev,docs]'
	$(PIP) --editable '.[metrics]' || echo 'The metrics could not be installed (is there a C compiler?): their tests will be skipped.'
	touch $@

# The tests of the page need these; without npm they are skipped.
web/node_modules/.package-lock.json: web/package-lock.json
	@if command -v npm > /dev/null; then (cd web && npm ci) || echo 'The packages of the page could not be installed: its tests will be skipped.'; \
	else echo 'npm is not installed (apt install nodejs npm): the tests of the page will be skipped.'; fi
