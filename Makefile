.PHONY: check shapes test demo docs codes

check:  ## format, lint, types, import contract, quick tests
	uv run ruff format --check .
	uv run ruff check .
	uv run mypy
	uv run lint-imports
	uv run pytest -q -m "not slow"
	$(MAKE) shapes

shapes:  ## the axes and types of every call, checked by jaxtyping and beartype
	uv run pytest -q -m "not slow and not unchecked" --jaxtyping-packages=codednet,beartype.beartype tests/nn tests/models tests/paths

test:  ## every test
	uv run pytest

demo:
	uv run codednet demo

docs:  ## the doctests and the links of the pages
	uv run pytest -q src tests/contract/test_docs.py

codes:  ## design again the codes that ship with the package
	uv run python tools/make_codes.py
