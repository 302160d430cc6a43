# Each target does its own set-up: on a fresh machine with Python 3.11 or later, `make demo` and `make test` just work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS := $(VENV)/docs

.PHONY: demo test test-all engines lint types benchmark readme docs clean

demo: $(VENV)/demo.stamp
	$(BIN)/bayes-assess demo

test: $(VENV)/dev.stamp
	$(BIN)/python -m compileall -q bayes_assess  # as installing does, for all processes that the tests start
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" $(PYTEST_ARGS)

# With the statistical tests, the notebooks and the README, which take about an hour on two cores. Programs are optimised
# here, as they are for users; conftest.py has `make test` compile them fast instead.
test-all: $(VENV)/dev.stamp
	XLA_FLAGS= $(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

# Spark, with a Java of its own, and Ibis: tests of tables run on them, too, once they are there.
engines: $(VENV)/engines.stamp

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/pyright

benchmark: $(VENV)/dev.stamp
	$(BIN)/python -m pytest benchmarks --override-ini testpaths= --override-ini python_files='bench_*.py' -p no:xdist

readme: $(VENV)/dev.stamp
	$(BIN)/python docs/make_readme.py README.md docs/tour.md

# Into site/, whose pages open without a server. A broken link or anchor is an error.
docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m doctest docs/site/pages.py

clean:
	rm -rf $(VENV) demo_output site

$(BIN)/python:
	$(PYTHON) -m venv --upgrade-deps $(VENV)  # the pip of Python 3.11 takes twice as long to install

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/demo.stamp

$(VENV)/engines.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[engines]'
	touch $@

# Sources are read, not run: the site needs an environment with its own tools alone, which is there soon.
$(VENV)/docs.stamp: pyproject.toml
	$(PYTHON) -m venv --upgrade-deps $(DOCS)
	$(DOCS)/bin/python -c 'import sys, tomllib; \
	  print(*tomllib.load(sys.stdin.buffer)["project"]["optional-dependencies"]["docs"], sep="\n")' \
	  < pyproject.toml > $(DOCS)/requirements.txt
	$(DOCS)/bin/python -m pip install --quiet --requirement $(DOCS)/requirements.txt
	touch $@
