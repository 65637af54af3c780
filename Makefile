# The two commands of this project:  make studio  (run it)   make test  (prove it)
# Everything is installed into .venv and frontend/node_modules; nothing is installed system-wide.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UI     := backend/compilemask_studio/_static/index.html
UI_SOURCES := $(shell find frontend -path frontend/node_modules -prune -o -path frontend/test-results -prune -o -path frontend/e2e -prune -o -type f -print 2>/dev/null)

.PHONY: studio test lint types unit ui-check browser wheel ui install clean check-python check-node

studio: $(VENV)/.installed $(UI)
	@$(BIN)/compilemask studio $(ARGS)

test: lint types unit ui-check browser

install: $(VENV)/.installed frontend/node_modules/.installed

ui: $(UI)

check-python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is %s: set PYTHON=python3.11" % sys.version.split()[0])'

check-node:
	@command -v node >/dev/null || { echo "Node.js 20 or newer is needed to build the studio's user interface, and no 'node' was found"; exit 1; }
	@node -e 'const v = process.versions.node.split("."); if (+v[0] < 20 || (+v[0] === 20 && +v[1] < 19)) { console.error("Node.js 20.19 or newer is needed, this is " + process.versions.node); process.exit(1) }'

$(VENV)/.installed: pyproject.toml constraints.txt | check-python
	@echo "installing the Python packages into $(VENV) (torch is the large one)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,gpu-info]'
	@touch $@

frontend/node_modules/.installed: frontend/package.json frontend/package-lock.json | check-node
	@echo "installing the user interface's packages into frontend/node_modules"
	@cd frontend && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(UI): frontend/node_modules/.installed $(UI_SOURCES)
	@echo "building the user interface"
	@cd frontend && npm run --silent build
	@touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.installed
	$(BIN)/mypy

# One process a core: torch's own threads would only take turns with them.
unit: $(VENV)/.installed $(UI)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

ui-check: frontend/node_modules/.installed
	cd frontend && npm run --silent check && npm run --silent test

# The browser tests drive Debian's or your own Chromium (CHROMIUM=/path/to/it).
browser: $(VENV)/.installed $(UI)
	@chromium="$${CHROMIUM:-$$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"; \
	if [ -z "$$chromium" ]; then \
	  echo "BROWSER TESTS NOT RUN: no Chromium found (Debian: apt-get install chromium; or set CHROMIUM=/path/to/chromium)"; \
	  test "$$CI" != "true"; \
	else cd frontend && CHROMIUM="$$chromium" npm run --silent e2e; fi

wheel: $(VENV)/.installed $(UI)
	$(BIN)/python -m build --wheel --no-isolation

clean:
	rm -rf $(VENV) frontend/node_modules backend/compilemask_studio/_static dist
