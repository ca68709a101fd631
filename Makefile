# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
VSCODE := editors/vscode

.PHONY: demo test lint fmt install model extension clean

demo: model
	$(BIN)/completiond demo

test: install extension
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fmt: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

model: install
	$(BIN)/completiond model pull

# The extension for VS Code, checked and packaged: editors/vscode/completiond-VERSION.vsix
extension: $(VSCODE)/node_modules/.package-lock.json
	cd $(VSCODE) && npm run --silent lint && npm run --silent check && npm test --silent && npm run --silent package

$(VSCODE)/node_modules/.package-lock.json: $(VSCODE)/package-lock.json
	cd $(VSCODE) && npm ci --ignore-scripts --loglevel=error
	touch $@

install: $(STAMP)

# Versions are pinned by the constraints file only; pyproject.toml says what works.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	rm -rf $(VSCODE)/node_modules $(VSCODE)/dist $(VSCODE)/out $(VSCODE)/*.vsix
