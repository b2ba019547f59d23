PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench soak clean

demo: $(READY)          ## a live multi-agent session on a throw-away store
	$(BIN)/ramify demo

test: $(STAMP) lint     ## everything, real clients included
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

bench: $(STAMP)         ## figures, with ratios from one run
	$(BIN)/python -m bench

soak: $(STAMP)          ## kill -9 under load, many times
	$(BIN)/python -m bench.soak

clean:
	rm -rf $(VENV)

# What a user installs; the demonstration needs no more.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Ramify needs Python 3.11 or newer; say which with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "No virtual environment could be made. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PIP) -e '.[fast]'
	@touch $(READY)

# The development tools, and the real client (some 350 MB) that the tests run.
$(STAMP): $(READY) pyproject.toml
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --group dev
	@touch $(STAMP)
