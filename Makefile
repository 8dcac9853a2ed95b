# Every task of the project; `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
STAMP  := $(VENV)/.installed
BENCHES := agent collector objectives forecast replay scaling rootcause planners dashboard scaleout

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench screenshots dist test-browser test-live soak $(addprefix bench-,$(BENCHES))

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '  make bench-NAME       One benchmark: %s\n' "$(BENCHES)"

setup: $(STAMP) ## Build .venv with everything (does nothing when it is up to date)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -e '.[server,dashboard]' --group dev
	@touch $(STAMP)

demo: setup ## Replay recorded engines through agent, collector and dashboard (ARGS="--once -o json" prints and exits)
	@$(BIN)/sloscope demo $(ARGS)

test: setup ## Run the tests (ARGS passes options to pytest)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

check: setup ## Format, lint, types, import law
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup ## Rewrite the code in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix-only .

bench: $(addprefix bench-,$(BENCHES)) ## Run every benchmark; results land in build/bench/

$(addprefix bench-,$(BENCHES)): bench-%: setup
	@$(BIN)/python -m benchmarks.$* $(ARGS)

screenshots: setup ## Draw every dashboard page with chromium into build/screenshots/
	@$(BIN)/python -m tests.browser.screenshots $(ARGS)

test-browser: setup ## Dashboard tests in a real chromium
	@$(BIN)/python -m pytest -m browser $(ARGS)

test-live: setup ## Tests against real engines that this machine can run
	@$(BIN)/python -m pytest -m live $(ARGS)

soak: setup ## The long run: faults, leaks, lost batches
	@$(BIN)/python -m pytest -m soak $(ARGS)

dist: setup ## Build the wheel and the source archive into dist/
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv build --quiet --out-dir dist
