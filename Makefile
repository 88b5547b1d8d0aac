# The project's recipes; `make` lists them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?=
ONLY ?=
PORTS ?=
SERVERS_FOLDER ?= $(CURDIR)/.servers
# Workers of tests that sometimes wait, and of tests that mostly wait for a browser or a process.
BUSY := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
WAITING := $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2)
# The tests that took longest are listed at the end of a run.
SLOWEST := --durations 25 --durations-min 5
EXTRAS := rabbitmq kafka postgresql s3 elasticsearch opensearch hbase dense
SECONDS ?= 600
MB ?= 64
DOCUMENTS ?= 20000
WORKS ?= 1000000
KILLS ?= 300
STORIES ?= 20000
KILLS_NEWS ?= 20
QUEUE ?=
ENGINE ?= local
REF ?=
ROUNDS ?= 3
TESTED := $(shell find .ci deploy docs requirements scripts src tests -type f -not -name '*.pyc') $(wildcard *.md *.toml *.yaml Makefile)
# Each layer of tests is a folder; CONTRIBUTING.md says what each is for.
FAST_TESTS := tests/unit tests/contract
SLOW_TESTS := tests/journeys tests/e2e tests/browser
export DATA

help: ## list the recipes
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) (once, a minute or so)"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	@echo "Adding the tools of the tests and the servers' clients to $(VENV)"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	@touch $@

run: $(VENV)/.run ## the main job, on a sample crawl of ours or on DATA="PATH ..."
	@$(BIN)/python scripts/run.py

# Passed once, the fast tests need not pass again until something they may depend on has changed.
$(VENV)/.fast: $(VENV)/.dev $(TESTED)
	$(BIN)/pytest -q -n $(BUSY) --dist worksteal -m "not nightly and not servers" $(FAST_TESTS)
	@touch $@

test: $(VENV)/.fast ## every test that needs no server; the fast ones if anything changed since they passed
	@sh scripts/browser.sh
	$(BIN)/pytest -q -n $(WAITING) --dist loadgroup $(SLOWEST) -m "not nightly" $(SLOW_TESTS)

nightly: $(VENV)/.dev ## every full matrix, many kills, other programs; on servers too where they run
	@sh scripts/browser.sh
	TEST_NIGHTLY=1 $(BIN)/pytest -q -n $(WAITING) --dist loadgroup -m "not servers" $(FAST_TESTS) $(SLOW_TESTS) tests/peers
	if [ -f "$(SERVERS_FOLDER)/servers.env" ]; then $(MAKE) --no-print-directory test-servers TEST_NIGHTLY=1; fi
	$(MAKE) --no-print-directory bench-against SKIP_MISSING=1

check: $(VENV)/.dev ## format, lint, types, import rules, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory $(VENV)/.fast

format: $(VENV)/.dev ## mend what the formatter and the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

servers: $(VENV)/.dev ## start the real servers; ONLY="kafka hbase", PORTS="kafka=19092", SERVERS_FOLDER=...
	@$(BIN)/python scripts/servers.py start --folder "$(SERVERS_FOLDER)" --only "$(ONLY)" $(foreach one,$(PORTS),--port $(one))

servers-install: $(VENV)/.dev ## install them without starting them, which takes minutes the first time
	@$(BIN)/python scripts/servers.py install --folder "$(SERVERS_FOLDER)" --only "$(ONLY)"

servers-stop: $(VENV)/.dev ## stop them
	@$(BIN)/python scripts/servers.py stop --folder "$(SERVERS_FOLDER)" --only "$(ONLY)"

test-servers: $(VENV)/.dev ## the contract suites and more on the servers that run; a missing one fails
	set -a; . "$(SERVERS_FOLDER)/servers.env"; \
	export TEST_SERVERS_REQUIRED=1 TEST_SERVERS_FOLDER="$(SERVERS_FOLDER)"; \
	$(BIN)/pytest -q -n $(WAITING) --dist loadfile --no-loadscope-reorder $(SLOWEST) -m "servers$(if $(TEST_NIGHTLY),, and not nightly)" tests/contract tests/servers

bench-servers: $(VENV)/.dev ## messages, rows and documents a second beside the bare clients
	set -a; . "$(SERVERS_FOLDER)/servers.env"; $(BIN)/python scripts/bench_servers.py; \
	$(BIN)/python scripts/bench_delays.py

torture: $(VENV)/.dev ## SIGKILLs at random over every command that writes; KILLS=300
	PYTHONPATH=tests:scripts $(BIN)/python tests/torture.py --kills $(KILLS)

torture-news: $(VENV)/.dev ## a web of news followed while workers are killed; STORIES=20000, KILLS_NEWS=20, QUEUE="kafka://..."
	PYTHONPATH=tests:scripts $(BIN)/python tests/torture_news.py --stories $(STORIES) --kills $(KILLS_NEWS) --queue "$(QUEUE)"

corpus: $(VENV)/.dev ## the whole of ../shared/corpus, with counts and rates
	$(BIN)/pytest -s tests/nightly/corpus

bench: $(VENV)/.dev ## our speed beside named peers, on the same input in one run
	$(BIN)/python scripts/bench.py
	$(BIN)/python scripts/bench_pdf.py
	$(BIN)/python scripts/bench_hostile.py

bench-against: $(VENV)/.dev ## CPU of each task beside an earlier commit; REF=COMMIT, ONLY="small,pdf", ROUNDS=3
	$(BIN)/python scripts/bench_against.py $(REF) --rounds $(ROUNDS) $(if $(ONLY),--only $(ONLY)) $(if $(SKIP_MISSING),--skip-missing)

profile: $(VENV)/.dev ## flame graph and CPU by package and by document; ROAD=pages|pdf|search|audit|startup, OUT=FOLDER
	$(BIN)/python scripts/flame_graphs.py $(or $(ROAD),pages) --documents $(DOCUMENTS) $(if $(OUT),--out "$(OUT)")

bench-pages: $(VENV)/.dev ## pages beside other extractors, which are installed for the run only
	$(BIN)/python scripts/bench_pages.py

bench-fetch: $(VENV)/.dev ## fetching from loopback beside aiohttp and Scrapy, which are installed for the run only
	$(BIN)/python scripts/bench_fetch.py

bench-grouping: $(VENV)/.dev ## groupings of the labelled sets beside other recipes, which are installed for the run only
	$(BIN)/python scripts/bench_grouping.py $(ONLY)

bench-backfill: $(VENV)/.dev ## a made CDX of one and of five million lines into a new home; ENGINE="spark://..."
	$(BIN)/python scripts/bench_backfill.py --engine "$(ENGINE)"

bench-catalog: $(VENV)/.dev ## works loaded and looked for: seconds and bytes a million; WORKS=1000000
	$(BIN)/python scripts/bench_catalog.py $(WORKS)

bench-collections: $(VENV)/.dev ## documents put, a rebuild, and reads meanwhile; DOCUMENTS=20000
	$(BIN)/python scripts/bench_collections.py $(DOCUMENTS)
	$(BIN)/python scripts/bench_posting.py

bench-pages-served: $(VENV)/.dev ## each page at 20 users in a made library; DOCUMENTS=100000 HOME_OF=FOLDER keeps it
	$(BIN)/python scripts/bench_pages_served.py --documents $(or $(DOCUMENTS),100000) $(if $(HOME_OF),--home $(HOME_OF))

bench-worst: $(VENV)/.dev ## the worst input of each format: twice the size may cost 2.3 times the CPU; ONLY="codings", MB=64
	$(BIN)/python scripts/bench_worst.py --mb $(MB) $(ONLY)

fuzz: $(BIN)/python ## throw bytes at every parser, SECONDS=600 each; ONLY="cdx codings"
	$(BIN)/python scripts/fuzzing.py --seconds $(SECONDS) $(ONLY)

lock: ## renew the locked dependencies (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml requirements/build.in -o requirements/run.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml requirements/build.in requirements/dev.in $(foreach one,$(EXTRAS),--extra $(one)) -o requirements/dev.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml requirements/build.in $(foreach one,$(EXTRAS),--extra $(one)) -o requirements/workers.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/spark.in -o requirements/spark.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/fuzz.in -o requirements/fuzz.txt

clean: ## remove what the recipes made (not fonds-data, not sample-library)
	rm -rf $(VENV) .bench sample-crawl .mypy_cache .ruff_cache .pytest_cache build dist

.PHONY: help run bench-against test nightly servers servers-install servers-stop test-servers bench-servers check format torture torture-news corpus bench profile bench-pages bench-fetch bench-grouping bench-collections bench-catalog bench-backfill bench-pages-served bench-worst fuzz lock clean
