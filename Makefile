# Everything needed is Python (3.11 or newer) and make; each target makes its own virtual environment first.
PYTHON ?= python3
WORKERS ?= auto
TESTS ?=

VENV := .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
EXE := $(if $(filter Windows_NT,$(OS)),.exe)
# pip resolves against these exact versions, so that a run today and one next year are the same.
PINS := constraints/ci.txt
MINIMUM_VENV := .venv-minimum
MINIMUM_PINS := constraints/minimum.txt
# Groups of pyproject.toml, for developers; all other names of what is installed are extras.
GROUPS := test coverage docs bench lint release
INSTALL = -m pip install --quiet --disable-pip-version-check
RERUN := experiments_output$(if $(QUICK),_quick)

# Test workers already use every processor; threads of BLAS and OpenMP on top of them would only fight for it.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Tests start many processes: without bytecode, which some machines are told not to write, each compiles everything.
FOR_TESTS := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help
# A virtual environment or an installation that was cut off does not count as made.
.DELETE_ON_ERROR:
.PHONY: help demo app test test-minimum test-all coverage docs pictures bench equivalence golden experiments lint release-check clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

demo: $(VENV)/.installed-cli  ## Which genes predict whether p53 is mutated? Writes demo_output/ in about a minute
	$(BIN)/ubayfs demo --output demo_output --force

app: $(VENV)/.installed-app  ## Open the demo study in the browser; studies are kept in app_output/
	$(BIN)/ubayfs app --demo --directory app_output

test: $(VENV)/.installed-test $(VENV)/.installed-experiments  ## Run all tests (WORKERS=2 for two processes)
	$(FOR_TESTS) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(TESTS)

test-minimum: $(MINIMUM_VENV)/.installed-test $(MINIMUM_VENV)/.installed-experiments  ## Run all tests with the oldest versions that are supported (Python 3.11)
	SCIPY_ARRAY_API=1 $(FOR_TESTS) $(MINIMUM_VENV)/$(SCRIPTS)/python -m pytest -n $(WORKERS) --dist loadfile $(TESTS)

test-all:  ## Run all tests on every Python from 3.11 to 3.14 that is found, and with the oldest packages (TESTS=tests/cli: some)
	@WORKERS='$(WORKERS)' TESTS='$(TESTS)' .ci/test-all

coverage: $(VENV)/.installed-coverage $(VENV)/.installed-experiments  ## Run all tests and show the lines of src/ubayfs that none of them runs
	$(FOR_TESTS) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --cov=ubayfs --cov-report=term-missing:skip-covered --cov-report=html $(TESTS)

# Built anew each time: a page that is gone must not stay. -W: every warning is an error, a broken link among them.
docs: $(VENV)/.installed-docs  ## Build the documentation site, offline: docs/_build/html/index.html
	rm -rf docs/_build docs/gallery docs/api/names docs/api/modules docs/api/examples
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

pictures: $(VENV)/.installed-test  ## Make the pictures of report and app in docs/images (needs Chromium)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.pictures

# The other tools are optional: the table says which of them could not be imported.
bench: $(VENV)/.installed-plot  ## Measure beside other tools, 15 minutes (QUICK=1: one; MILLION=1: also a million features)
	-@$(MAKE) --no-print-directory $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(if $(MILLION),--million) $(if $(ONLY),--only $(ONLY))

equivalence: $(VENV)/.installed-test  ## Compare decisions and ensembles with those recorded
	$(BIN)/python -m benchmarks.equivalence compare benchmarks/results/equivalence.json.gz

golden: $(VENV)/.installed-test  ## Compare reports, summaries and messages of small studies with those recorded (RECORD=1: record anew)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.golden --workers $(or $(JOBS),2) $(if $(RECORD),--record) $(ONLY)

# Hours on two processors; a stopped run is resumed. DATA=directory with the paper's data sets, JOBS=processes.
experiments: $(VENV)/.installed-experiments  ## Rerun the paper's experiments (QUICK=1: in small; DATA=directory, JOBS=2)
	$(BIN)/ubayfs-experiments run all -o $(RERUN) $(if $(DATA),--data-dir $(DATA)) $(if $(QUICK),--quick) --jobs $(or $(JOBS),1)
	$(BIN)/ubayfs-experiments report -o $(RERUN)

lint: $(VENV)/.installed-lint  ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

release-check: $(VENV)/.installed-release  ## Build sdist and wheel; try them in clean environments, with each extra alone (EXTRAS="none cli": some)
	BUILDER=$(BIN)/python PYTHON=$(PYTHON) EXTRAS='$(EXTRAS)' .ci/release-check

clean:  ## Remove the environments and everything else that can be made again
	rm -rf $(VENV) $(VENV)-3.* $(MINIMUM_VENV) demo_output app_output experiments_output experiments_output_quick build dist htmlcov docs/_build docs/gallery docs/api/names docs/api/modules docs/api/examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment for all targets; a stamp per extra or group remembers what is installed in it.
$(VENV)/.installed-%: $(VENV)/.pip pyproject.toml $(PINS)
	$(BIN)/python $(INSTALL) -c $(PINS) $(if $(filter $*,$(GROUPS)),-e . --group $*,-e '.[$*]')
	touch $@

# The experiments are a distribution of their own.
$(VENV)/.installed-experiments: $(VENV)/.pip pyproject.toml experiments/pyproject.toml $(PINS)
	$(BIN)/python $(INSTALL) -c $(PINS) -e . -e ./experiments
	touch $@

$(MINIMUM_VENV)/.installed-experiments: $(MINIMUM_VENV)/.pip pyproject.toml experiments/pyproject.toml $(MINIMUM_PINS)
	$(MINIMUM_VENV)/$(SCRIPTS)/python $(INSTALL) -c $(MINIMUM_PINS) -e . -e ./experiments
	touch $@

$(MINIMUM_VENV)/.installed-%: $(MINIMUM_VENV)/.pip pyproject.toml $(MINIMUM_PINS)
	$(MINIMUM_VENV)/$(SCRIPTS)/python $(INSTALL) -c $(MINIMUM_PINS) $(if $(filter $*,$(GROUPS)),-e . --group $*,-e '.[$*]')
	touch $@

$(BIN)/python$(EXE) $(MINIMUM_VENV)/$(SCRIPTS)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(@D:/$(SCRIPTS)=)

# pip knows groups since 25.1.
$(VENV)/.pip $(MINIMUM_VENV)/.pip: %/.pip: %/$(SCRIPTS)/python$(EXE)
	$< $(INSTALL) 'pip>=25.1'
	touch $@
