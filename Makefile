PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
MOST ?= 100000
MINUTES ?= 30
PAGE := src/ramify/web/static/index.html
PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print)

LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r
SUPPLY := $(VENV)/supply
FUZZ := $(VENV)/fuzz
COMPILE := $(SUPPLY)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-header --no-emit-index-url --no-emit-find-links

.PHONY: demo test lint web screenshots bench soak fuzz phoenix clean lock sbom licences wheel

demo: $(READY) $(PAGE)  ## a live multi-agent session on a throw-away store
	$(BIN)/ramify demo

test: $(STAMP) lint $(PAGE)  ## everything, real clients and a real browser included
	$(BIN)/python web/build.py test
	$(BIN)/python -m tests.system
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

web: $(PAGE)            ## the page, built into the package

lint: $(STAMP)
	$(BIN)/python web/build.py check
	$(BIN)/ruff check src tests bench supply
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

screenshots: $(STAMP) $(PAGE)  ## every page, light and dark, wide and narrow
	$(BIN)/python -m tests.browser.screenshots

bench: $(STAMP) $(PAGE)  ## figures, with ratios from one run; MOST=1000000 fills every engine up to a million requests
	MOST=$(MOST) $(BIN)/python -m bench

soak: $(STAMP)          ## kill -9 under load, many times; half an hour of random faults; quiet streams, for minutes
	$(BIN)/python -m bench.soak
	$(BIN)/python -m bench.soak_faults --minutes $(MINUTES)
	$(BIN)/python -m bench.soak_faults --minutes 10 --engine postgres
	$(BIN)/python -m bench.streams
	$(BIN)/python -m bench.a2a --open 300
	$(BIN)/python -m bench.cluster

fuzz: $(STAMP) $(FUZZ)  ## damaged recordings for every reader, a minute each, twice; every path of the API, by its own description
	$(BIN)/python -m tests.fuzz
	$(BIN)/python -m tests.fuzz_guided $(FUZZ)
	$(BIN)/python -m tests.fuzz_api $(FUZZ)/bin/schemathesis

phoenix: $(STAMP)       ## what Arize Phoenix (850 MB, into the environment) shows of the spans that Ramify sends
	RAMIFY_TEST_PHOENIX=1 $(BIN)/python -m pytest tests/peers/test_phoenix.py

lock: $(SUPPLY)         ## newer versions of what pyproject.toml allows, with their hashes
	$(COMPILE) --upgrade pyproject.toml --group page --group build --extra fast -o requirements/run.txt
	$(COMPILE) --upgrade pyproject.toml --group dev --extra fast -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) --upgrade --group supply -o requirements/supply.txt
	$(COMPILE) --upgrade --group fuzz -o requirements/fuzz.txt

sbom: $(READY) $(SUPPLY)  ## what a checkout is built and runs with, as CycloneDX, into dist/
	@mkdir -p dist
	rm -rf $(VENV)/plain && $(PYTHON) -m venv --without-pip $(VENV)/plain
	$(BIN)/python -m pip --python $(VENV)/plain install --quiet --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip --python $(VENV)/plain install --quiet --no-deps --no-build-isolation -e .
	$(SUPPLY)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o dist/ramify.cdx.json $(VENV)/plain

licences: $(READY)      ## docs/licences.md, from what the packages say of themselves
	$(BIN)/python -m supply.licences > docs/licences.md

wheel: $(READY) $(PAGE)  ## built twice; fails unless both are the same bytes
	$(BIN)/python -m supply.wheel dist

$(SUPPLY): requirements/supply.txt
	$(PYTHON) -m venv $(SUPPLY)
	$(SUPPLY)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/supply.txt
	@touch $(SUPPLY)

$(FUZZ): requirements/fuzz.txt
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/fuzz.txt
	@touch $(FUZZ)

clean:
	rm -rf $(VENV) web/node_modules src/ramify/web/static

$(PAGE): $(PAGE_SOURCES) | $(READY)
	$(BIN)/python web/build.py build
	@touch $(PAGE)

# What a user installs, and the page, built with a node from PyPI; the demonstration needs no more.
$(READY): pyproject.toml requirements/run.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Ramify needs Python 3.11 or newer; say which with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "No virtual environment could be made. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PIP) --upgrade 'pip>=25.1'
	$(LOCKED) requirements/run.txt
	$(BIN)/python web/build.py build
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(READY)

# The development tools, and the real client (some 350 MB) that the tests run. By uv, in a fifth of the time; by pip where only
# that is told how packages are reached.
$(STAMP): $(READY) pyproject.toml requirements/dev.txt
	@sed -n '/^uv==/,/[^\\]$$/p' requirements/dev.txt > $(VENV)/uv.txt
	$(LOCKED) $(VENV)/uv.txt
	$(BIN)/python -m uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt || $(LOCKED) requirements/dev.txt
	@touch $(STAMP)
