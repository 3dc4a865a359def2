PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2

PEER_TESTS := tests/against/test_vowpal.py tests/methods/group_lasso/test_cones.py tests/methods/low_rank_lasso/test_words.py \
	tests/reporting/test_browser.py

# Where nothing writes byte code, each of the many processes that tests start compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests peers test-peers test-matrix lint docs bench dist clean

# One stamp an extra: the virtual environment is made once and brought up to date when pyproject.toml changes.
# Python compiles what is imported; pip would compile everything.
.venv/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[$*]"
	touch $@

# A peer that does not install on this machine is left out, and the pages say so.
.venv/bench.stamp: .venv/all.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]" || $(BIN)/python -m benchmarks.peers
	touch $@

demo: .venv/all.stamp
	$(BIN)/tamis demo

# Lint runs beside the tests, some of which wait for other processes.
test: .venv/test.stamp
	$(MAKE) --no-print-directory -j 2 lint tests
	$(BIN)/python tests/matrix.py --short --jobs $(JOBS)

tests: .venv/test.stamp
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)

# Libraries of others that some tests compare with; where they are, make test runs these too.
peers: .venv/test.stamp
	$(BIN)/python -m benchmarks.peers peers

# Against libraries that tamis does not need, and in a browser: what does not install is said, and its tests are skipped.
test-peers: peers
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m peer -rs $(PEER_TESTS)

# The delicate tests as on other machines, and a part of all tests with other Pythons and the lowest versions.
test-matrix: .venv/test.stamp
	$(BIN)/python tests/matrix.py --jobs $(JOBS)

lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 src
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: .venv/bench.stamp
	$(BIN)/python -m benchmarks

# A wheel and a source archive that are sound, and that work in a bare environment.
dist: .venv/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist build/bare
	$(BIN)/python -m build --outdir dist . > /dev/null
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && bare/bin/tamis --version && bare/bin/python -c "import tamis; print(tamis.report(tamis.SieveClassifier(random_state=0).fit(*tamis.datasets.make_text(random_state=0)[:2])))"

clean:
	rm -rf .venv build dist docs/_build docs/api docs/gallery .mypy_cache .ruff_cache
