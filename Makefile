# make demo    set up and reproduce the results of the papers
# make test    set up and run the tests
# make bare    run the tests that use system programs again, with those programs hidden
# make floors  set up the lowest versions that pyproject.toml declares, and run the tests that depend on them
# make windows  set up Windows' Python under wine, compare bits and run tests with it; TESTS=tests/model runs a part
# make arm     the same with an emulated aarch64 Python (qemu-user), with the tests up to dynamics and laws
# make foreign  bits and a few tests on both; says what cannot be installed, without failing
# make bench   set up and compare the speed with Pinocchio and other peers; writes benchmarks/results/
# make docs    set up and build the documentation into docs/_build/html
# make fuzz    set up and run the fuzz targets for MINUTES (5)
# make lint    set up and check style, types and the order of imports

PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 5
INSTALL := -m pip --disable-pip-version-check --quiet install --no-compile --editable
LABORATORY := -m pip --disable-pip-version-check --quiet install --no-compile --no-deps --editable ./lab

# Tests of what each dependency provides: NumPy's C interface and dtypes, LLVM, SciPy, the command line, files, figures.
FLOORS := tests/compile/native/test_gufunc.py tests/compile/native/test_bound.py tests/compile/native/test_direct.py \
	tests/compile/llvm/test_arithmetic.py tests/compile/llvm/test_trigonometry.py tests/compile/test_array_kinds.py \
	tests/compile/test_function.py tests/cli tests/motion/test_records.py tests/motion/test_record_files.py \
	tests/show/plot/test_drawing.py tests/simulation/test_integration.py tests/simulation/test_flight.py \
	tests/control/test_linearize.py tests/control/test_whole_body.py tests/describe/test_urdf_agrees_with_pinocchio.py \
	tests/identify/test_measured_records.py tests/motion/test_bags.py tests/project/test_floors.py

# Tests of movies, pages, exports, FMU, boards, compiled peers and the command line, without those of commands and
# pictures that neither look up nor start a program.
NO_PROGRAMS := compilation_report formulations_and_count info_of_mechanisms margins optimize_command \
	reproduce_page rollout_command same_numbers
BARE := tests/show/movie tests/show/stage $(wildcard tests/show/test_*.py) tests/compile/c tests/simulation/fmu \
	tests/lab/bench tests/control/test_controller_in_c.py \
	$(filter-out $(NO_PROGRAMS:%=tests/cli/test_%.py),$(wildcard tests/cli/test_*.py))

TESTS ?=

.PHONY: demo test bare floors windows arm foreign bench docs fuzz lint clean

demo: .venv/demo
	$(BIN)/appell reproduce

test: .venv/test
	$(BIN)/python -m pytest -n 2 --dist worksteal

bare: .venv/test
	$(PYTHON) .ci/bare.py $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(BARE)

floors: .venv-floors/test
	.venv-floors/bin/python -m pytest -n 2 --dist worksteal -m "not slow" $(FLOORS)

windows: .venv/test
	$(BIN)/python .ci/windows.py $(TESTS)

arm: .venv/test
	$(BIN)/python .ci/arm.py $(TESTS)

foreign: .venv/test
	$(BIN)/python .ci/windows.py tests/compile/native/test_coff.py tests/compile/native/test_bound.py \
		--bits puma four-bar --subset --optional
	$(BIN)/python .ci/arm.py tests/algebra/test_circular.py --bits puma four-bar --subset --optional

bench: .venv/test
	$(BIN)/appell bench --force --output benchmarks/results/against-pinocchio.json
	$(BIN)/appell bench --peers --force --output benchmarks/results/peers.json
	$(BIN)/python benchmarks/identification.py
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/publish.py

docs: .venv/docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "built docs/_build/html/index.html"

fuzz: .venv/test
	$(BIN)/appell fuzz --minutes $(MINUTES)

lint: .venv/lint
	$(BIN)/ruff check src lab tests benchmarks examples docs/site $(wildcard docs/*.py)
	$(BIN)/ruff format --check src lab tests benchmarks examples docs/site $(wildcard docs/*.py)
	$(BIN)/lint-imports
	$(BIN)/python lab/tools/wording.py
	$(BIN)/mypy
	$(BIN)/mypy tests/project/typed_face.py

.venv/test: pyproject.toml lab/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) '.[test,exchange]'
	$(BIN)/python $(LABORATORY)
	@touch $@

.venv/%: pyproject.toml lab/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) '.[$*]'
	$(BIN)/python $(LABORATORY)
	@touch $@

.venv-floors/test: pyproject.toml lab/pyproject.toml .ci/floors.py
	test -x .venv-floors/bin/python || $(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python .ci/floors.py > .venv-floors/floors.txt
	.venv-floors/bin/python $(INSTALL) '.[test]' --constraint .venv-floors/floors.txt
	.venv-floors/bin/python $(LABORATORY)
	@touch $@

clean:
	rm -rf .venv .venv-floors .windows .arm build dist .pytest_cache .mypy_cache .ruff_cache out
