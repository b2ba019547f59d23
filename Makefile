PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
PAGE := src/ramify/web/static/index.html
PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print)

.PHONY: demo test lint web screenshots bench soak phoenix clean

demo: $(READY) $(PAGE)  ## a live multi-agent session on a throw-away store
	$(BIN)/ramify demo

test: $(STAMP) lint $(PAGE)  ## everything, real clients and a real browser included
	$(BIN)/python web/build.py test
	$(BIN)/python -m tests.system
	$(BIN)/python -m pytest -n 4 --dist loadfile

web: $(PAGE)            ## the page, built into the package

lint: $(STAMP)
	$(BIN)/python web/build.py check
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

screenshots: $(STAMP) $(PAGE)  ## every page, light and dark, wide and narrow
	$(BIN)/python -m tests.browser.screenshots

bench: $(STAMP) $(PAGE)  ## figures, with ratios from one run
	$(BIN)/python -m bench

soak: $(STAMP)          ## kill -9 under load, many times; quiet streams, for minutes
	$(BIN)/python -m bench.soak
	$(BIN)/python -m bench.a2a --open 300
	$(BIN)/python -m bench.cluster

phoenix: $(STAMP)       ## what Arize Phoenix (850 MB, into the environment) shows of the spans that Ramify sends
	RAMIFY_TEST_PHOENIX=1 $(BIN)/python -m pytest tests/peers/test_phoenix.py

clean:
	rm -rf $(VENV) web/node_modules src/ramify/web/static

$(PAGE): $(PAGE_SOURCES) | $(READY)
	$(BIN)/python web/build.py build
	@touch $(PAGE)

# What a user installs, and the page, built with a node from PyPI; the demonstration needs no more.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Ramify needs Python 3.11 or newer; say which with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "No virtual environment could be made. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --group page
	$(BIN)/python web/build.py build
	$(PIP) -e '.[fast]'
	@touch $(READY)

# The development tools, and the real client (some 350 MB) that the tests run.
$(STAMP): $(READY) pyproject.toml
	$(PIP) --group dev
	@touch $(STAMP)
