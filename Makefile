# Two commands do everything on a machine with Python 3.11 and make:
#   make demo   install softhat into .venv, compile a formula, run it, show its certificate
#   make test   install everything into .venv and run the tests (a slice of every suite)
# make proofs builds the machine-checked theorems; it needs Coq (proofs/README.md), nothing else does.
PYTHON ?= python3
BIN := .venv/bin
# The tests run in two processes; more threads in each would only compete.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export HF_HUB_OFFLINE ?= 1
# The tests start many processes: without bytecode each of them would compile softhat again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-full test-lowest coverage browser lint guide proofs clean

demo: .venv/core
	@$(BIN)/softhat demo

test: .venv/dev
	$(BIN)/python -m pytest -n 3 --dist loadfile

# Every suite at full size, one file at a time; results go to results/test-full.json, and a
# second run of the same commit goes on where the first one stopped.
test-full: .venv/dev
	$(BIN)/python -m tests.full

# The core with the oldest versions that pyproject.toml allows (`make test` has the newest), and
# TransformerLens with the oldest one, beside the newest of all others.
test-lowest: .venv-lowest/core build/lowest-lens
	.venv-lowest/bin/python -m pytest -W ignore::DeprecationWarning tests/logic tests/program \
		tests/transformer/lowering/test_size.py tests/proof/test_certificate.py tests/runtime/test_dense.py \
		tests/models/test_model.py tests/models/test_folders.py tests/ahat/test_file.py \
		tests/cli/test_check.py tests/cli/test_compile_run_trace.py
	PYTHONPATH=build/lowest-lens $(BIN)/python -m pytest tests/export/test_lens.py \
		tests/export/test_lens_load.py tests/export/test_torch_lens.py

# Lines and branches that the tests reach.
coverage: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report term:skip-covered

# The browser for the tests of the page (they are skipped where there is none). The headless shell is
# Chromium without what only windows need: the tests take half the time.
browser:
	command -v chromium-headless-shell >/dev/null \
		|| (apt-get update -qq && apt-get install -y -qq chromium-headless-shell) \
		|| command -v chromium >/dev/null

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The guide as a web site: build/site/index.html.
guide: .venv/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

proofs:
	@$(MAKE) --no-print-directory -C proofs -f Makefile

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

# A CPU build of torch, where the index has one, is a twentieth of the size of the default.
.venv/dev: .venv/bin/python pyproject.toml
	$(BIN)/python -c "import torch" 2>/dev/null \
		|| $(BIN)/pip install --quiet torch==2.13.0+cpu 2>/dev/null || true
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ .venv/core

.venv-lowest/core: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python \
		--resolution lowest-direct --editable '.[plot]' 'pytest>=8' 'pytest-xdist>=3.6' 'hypothesis>=6.100'
	@touch $@

LENS := $(shell sed -n 's/.*transformer-lens>=\([0-9.]*\).*/\1/p' pyproject.toml)
build/lowest-lens: .venv/dev
	$(BIN)/pip install --quiet --no-deps --upgrade --target $@ transformer-lens==$(LENS)
	@touch $@

clean:
	rm -rf .venv .venv-lowest .pytest_cache .mypy_cache .ruff_cache build dist
