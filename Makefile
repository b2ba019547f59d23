PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench soak clean

demo: $(STAMP)          ## a live multi-agent session on a throw-away store
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

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fast]' --group dev
	touch $(STAMP)
