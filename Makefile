# Each target does its own set-up: on a fresh machine with Python 3.11 or later, `make demo` and `make test` just work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS := $(VENV)/docs

# $(call install,ENVIRONMENT,WHAT): uv takes a fifth of pip's time; pip installs where it has an index of its own, or uv fails.
define install
@echo "Installing $(2) in $(1) ..."
@{ ! $(1)/bin/python -m pip config list | grep -q '\.index' && $(1)/bin/python -m pip install --quiet uv && \
UV_HTTP_RETRIES=1 $(1)/bin/python -m uv pip install --quiet --python $(1)/bin/python $(2); } || \
$(1)/bin/python -m pip install --quiet $(2)
endef

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
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(call install,$(VENV),--editable '.[demo]')
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(call install,$(VENV),--editable '.[dev]')
	touch $@ $(VENV)/demo.stamp

$(VENV)/engines.stamp: pyproject.toml | $(BIN)/python
	$(call install,$(VENV),--editable '.[engines]')
	touch $@

# Sources are read, not run: the site needs an environment with its own tools alone, which is there soon.
$(VENV)/docs.stamp: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -c 'import sys, tomllib; \
	  print(*tomllib.load(sys.stdin.buffer)["project"]["optional-dependencies"]["docs"], sep="\n")' \
	  < pyproject.toml > $(DOCS)/requirements.txt
	$(call install,$(DOCS),--requirement $(DOCS)/requirements.txt)
	touch $@
