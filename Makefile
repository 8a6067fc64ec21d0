# make ratios   how far the papers' algorithms are from the optimum: table, CSV, page
# make figures  every figure of the papers' evaluations at small scale, in out/figures: 15 minutes
# make gallery  the same on the page docs/figures.md: its pictures, for a release
# make test     what a change can break, in minutes: lint, types, imports, the quick tests
# make test-all the same with all tests and all their examples: what a change must pass
# make docs     guide, reference and executed notebooks in out/docs
# make bench-quick  our cost over that of other tools, beside the ratios of an earlier run, in two
#               minutes; KEEP=1 keeps the ratios of this run
# make bench    every benchmark but mutation.py, with its own sizes: hours
# make picture  the README's picture of a study's page (needs Chromium)
# Each installs what it needs into .venv first. PYTHON=python3.12 chooses the interpreter.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: ratios figures gallery lint test test-all docs picture bench bench-quick clean

ratios: .venv/.run
	@mkdir -p out
	$(BIN)/optsched study run studies/ratios.toml --store out/ratios.sqlite
	$(BIN)/optsched study show out/ratios.sqlite -o out/ratios.csv
	$(BIN)/optsched study show studies/ratios.toml --store out/ratios.sqlite -o out/ratios.html

figures: .venv/.test
	$(BIN)/optsched figure -o out/figures

gallery: figures
	$(BIN)/python docs/gallery.py

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --hypothesis-profile quick

test-all: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

picture: .venv/.run
	@mkdir -p out
	$(BIN)/optsched study run studies/small_edge_clouds.toml --store out/picture.sqlite
	$(BIN)/optsched study show studies/small_edge_clouds.toml --store out/picture.sqlite -o out/picture.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1720 \
		--force-device-scale-factor=0.75 --screenshot=docs/assets/report.png out/picture.html

bench-quick: .venv/.bench
	$(BIN)/python -m pytest benchmarks -m "not long" $(if $(KEEP),--keep)

# mutation.py is left out: it tries tests, and is asked for one module at a time
SCRIPTS = $(filter-out benchmarks/mutation.py,$(shell grep -l __main__ benchmarks/*.py))
bench: .venv/.bench
	@failed=; for command in "python -m pytest benchmarks" "optsched claims --overview" \
			$(foreach script,$(SCRIPTS),"python $(script)"); do \
		echo "== $$command"; $(BIN)/$$command || failed="$$failed, $$command"; done; \
	if [ -n "$$failed" ]; then echo "ended with an error$$failed"; exit 1; fi

clean:
	rm -rf .venv out

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
		|| { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.run: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.test: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	@touch $@

.venv/.docs: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

.venv/.bench: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[benchmarks,dev]'
	@touch $@
