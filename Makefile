# make demo    set up and reproduce the papers' results
# make test    set up and run the tests
# make bench   set up and measure against Pinocchio and other peers; writes benchmarks/results/
# make fuzz    set up and try to break it, for MINUTES (5)
# make lint    set up and check style, types and the order of imports

PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 5
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test bench fuzz lint clean

demo: .venv/demo
	$(BIN)/appell reproduce

test: .venv/test
	$(BIN)/python -m pytest -n 2 --dist worksteal

bench: .venv/test
	$(BIN)/appell bench --force --json benchmarks/results/against-pinocchio.json
	$(BIN)/appell bench --peers --force --json benchmarks/results/peers.json
	$(BIN)/python benchmarks/identification.py
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/publish.py

fuzz: .venv/test
	$(BIN)/appell fuzz --minutes $(MINUTES)

lint: .venv/lint
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mypy tests/project/typed_face.py

.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install --editable '.[$*]'
	@touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache out
