# Commands of the project; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help help-dev setup lock audit repro check-text plan compare corpora test test-all test-fast test-slow check fix flow retrain learn student backtranslate deploy server run worker mlflow sync champion promote rollback serve bench docs gpu-check clean uninstall

PYTHON ?= python3
POOL ?= cpu
FLOW ?= train
TEACHER ?= models/export
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/ready
SPACY := $(VENV)/spacy
# Only the articles' presets use spaCy.
READY := $(if $(findstring article,$(MODEL)$(DATA)),$(SPACY),$(SETUP))
DEV := $(VENV)/dev
SERVERS := $(VENV)/servers

# Build of PyTorch: for NVIDIA GPUs if there is one, otherwise the smaller one for CPUs.
TORCH_VERSION := 2.13.0
TORCH_CPU := https://download.pytorch.org/whl/cpu/torch/
TORCH ?= $(if $(shell command -v nvidia-smi),cuda,cpu)
SIZE_cpu := 200 MB; TORCH=cuda installs the build for NVIDIA GPUs
SIZE_cuda := 3 GB; TORCH=cpu installs the build without GPU support
PIP := $(BIN)/pip --disable-pip-version-check
LOCKED := install --require-hashes --no-deps --no-compile
# The CPU build is not on PyPI: try pip's configured indexes, then PyTorch's own.
INSTALL_cpu = $(PIP) --retries 1 $(LOCKED) --quiet -r requirements/torch-cpu.txt 2> /dev/null \
  || $(PIP) --retries 1 $(LOCKED) --quiet -r requirements/torch-cpu.txt --find-links $(TORCH_CPU) 2> /dev/null \
  || { echo "The CPU build of PyTorch cannot be downloaded from $(TORCH_CPU); installing the build for GPUs (3 GB) instead"; $(INSTALL_cuda); }
INSTALL_cuda = $(PIP) $(LOCKED) --quiet -r requirements/torch-cuda.txt
# Compile bytecode on all cores (pip uses one), without the packages' own tests.
COMPILE = $(BIN)/python -m compileall -qq -j 0 -x /tests/ $(1) > /dev/null || true
LOCK = uv pip compile --quiet --system-certs --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command "make lock" $(if $(filter all,$(UPGRADE)),--upgrade,$(addprefix --upgrade-package ,$(UPGRADE)))

NEEDED_BY_TORCH = grep -E '^[a-z0-9.-]+==' requirements/torch-cuda.txt | grep -vE '^(torch|triton|cuda|nvidia)' | tr -d '\\'

# Stages run as `python -m stages.NAME`, by the virtual environment's python and unbuffered.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONUNBUFFERED := 1
export DO_NOT_TRACK := 1

# Reject a variable that the command does not list, because a misspelt one would have no effect.
TYPED := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
GOALS := $(or $(MAKECMDGOALS),help)
find_variables = $(shell sed -nE 's@^$(1):.*## .*\[(.*)\]$$@\1@p' Makefile | grep -oE '[A-Z_]+=' | tr -d =)
TAKEN := $(sort $(foreach goal,setup $(GOALS),$(call find_variables,$(goal))))
UNKNOWN := $(firstword $(filter-out $(TAKEN),$(TYPED)))
CLOSEST = import difflib, sys; print(*difflib.get_close_matches(sys.argv[1].upper(), sys.argv[2:], 1) or sys.argv[2:], sep="=, ", end="=")
ifneq ($(UNKNOWN),)
$(error make $(GOALS) has no variable $(UNKNOWN)=; did you mean $(shell $(PYTHON) -c '$(CLOSEST)' $(UNKNOWN) $(TAKEN))?)
endif

LEARNING_on := --learning
LEARNING_off := --no-learning

# Parameters of a run, as JSON for Prefect.
AS_JSON = import json, sys; print(json.dumps({'settings': sys.argv[1:]} if sys.argv[1:] else {}))

# Each file of tests in one process, the longest first (tests/support/order.py), so that its fixtures
# run once; and compiled tests are kept, even if other programs write no bytecode.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 pytest --dist loadfile --no-loadscope-reorder
# All tests in tests/e2e and tests/orchestration are slow; importing them takes several seconds.
FAST := tests/integration tests/laws tests/unit
WHOLE = $(shell grep -lr --include='test_*.py' mark.whole tests/e2e tests/orchestration)
EXAMPLES = $(if $(SEED),--hypothesis-profile random --hypothesis-seed $(SEED))

# TEXT names files, corpora and URLs; DATA, MODEL, TRAIN and START choose presets of conf/; SET
# passes single settings, as in
#   make repro TEXT="my/train.de my/train.en" TIME=1h
#   make repro DATA=europarl LANGUAGES=fr-en SET="train.seed=2"
WORDS := $(if $(TEXT),"text=$(TEXT)") $(if $(LANGUAGES),"languages=$(LANGUAGES)") $(if $(VALIDATION),"validation=$(VALIDATION)") $(if $(TEST),"test=$(TEST)")
CHOICES := $(WORDS) $(if $(DATA),data=$(DATA)) $(if $(MODEL),model=$(MODEL)) $(if $(TRAIN),train=$(TRAIN)) $(if $(START),start=$(START)) $(if $(TIME),time=$(TIME)) $(SET)
# TIME=2h is converted once to a budget of tokens, which another machine can repeat
PIN_TIME = $(if $(TIME),python -m flows.repro shard embeddings && python -m stages.planning pin)
BUDGET := $(if $(SECONDS),--seconds $(SECONDS)) $(if $(STEPS),--steps $(STEPS)) $(if $(TOKENS),--tokens $(TOKENS))
BUDGET += $(if $(SEEDS),--seeds $(SEEDS))

# Print each ##@ as a title, and below it the targets with their ## comments, in 80 columns. The
# section for developers is printed by help-dev.
define MENU
function wrap(text,   words, n, i, line) {
  n = split(text, words, " ")
  for (i = 1; i <= n; i++) {
    if (line && length(line) + 1 + length(words[i]) > 54) {
      printf "%s\n%26s", line, ""
      line = words[i]
    } else line = line ? line " " words[i] : words[i]
  }
  print line
}
BEGIN { FS = ":.*## " }
/^##@ / { shown = /project$$/ == dev; if (shown) print "\n" substr($$0, 5) }
shown && /^[a-z-]+:.*## / { printf "  make %-19s", $$1; wrap($$2) }
endef

help help-dev: export PROGRAM := $(MENU)
help:
	@awk -v dev=0 "$$PROGRAM" $(MAKEFILE_LIST)
	@echo "  make help-dev           Show the commands for changing the project"

help-dev:
	@awk -v dev=1 "$$PROGRAM" $(MAKEFILE_LIST)

##@ Train on your text

repro: $(READY) ## Run all outdated stages, from text to exported model [TEXT= LANGUAGES= TIME= VALIDATION= TEST= DATA= MODEL= TRAIN= START= SET=]
	python -m stages.configure $(CHOICES)
	$(PIN_TIME)
	python -m flows.repro
	@python -m stages.reporting.summary

setup: $(READY) ## Create .venv with the pinned packages; other commands do it if needed [TORCH=cpu|cuda PYTHON=]

$(SETUP) $(DEV) lock: SHELL := bash
$(SETUP) $(DEV) lock: .SHELLFLAGS := -euo pipefail -c

$(SETUP): pyproject.toml requirements/build.txt requirements/train.txt $(wildcard requirements/torch-*.txt)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --no-deps --quiet -r requirements/build.txt  # the new pip is used below
	@echo "$(VENV), about three minutes: 1 of 3, PyTorch for $(TORCH) ($(SIZE_$(TORCH)))"
	@$(INSTALL_$(TORCH))
	@echo "$(VENV): 2 of 3, $$(grep -c == requirements/train.txt) packages (330 MB)"
	@$(PIP) $(LOCKED) --no-build-isolation --progress-bar off -r requirements/train.txt | awk '{fflush()} \
	  /^(Collecting|Requirement)/ && ++n % 50 == 0 {print "    " n " downloaded"} \
	  /^Installing/ {print "    all downloaded; installing them"}'
	@echo "$(VENV): 3 of 3, this project"
	@$(PIP) install -qq --no-index --no-deps --no-build-isolation --editable .
	@$(call COMPILE,$(VENV)/lib)
	@touch $@

$(SPACY): $(SETUP) requirements/spacy.txt
	@echo "$(VENV): spaCy, for the articles' presets (150 MB)"
	@$(PIP) $(LOCKED) --no-build-isolation --quiet -r requirements/spacy.txt
	@touch $@

$(DEV): $(SETUP) requirements/dev.txt
	@echo "$(VENV): the packages of developers (330 MB)"
	@$(PIP) $(LOCKED) --no-build-isolation --quiet -r requirements/dev.txt
	@$(call COMPILE,$(VENV)/lib)
	@touch $@

# Servers have their own environment, so that Prefect and MLflow do not restrict other packages.
$(SERVERS)/ready: $(SETUP) requirements/servers.txt
	@test -x $(SERVERS)/bin/python || $(BIN)/python -m venv --without-pip $(SERVERS)
	@echo "$(SERVERS): the packages of the servers (260 MB)"
	@$(PIP) --python $(SERVERS)/bin/python $(LOCKED) --no-build-isolation --quiet -r requirements/servers.txt
	@$(call COMPILE,$(SERVERS)/lib)
	@touch $@

check-text: $(READY) ## Show the content and problems of text before training [TEXT= LANGUAGES= VALIDATION= TEST= DATA= SET=]
	python -m stages.configure $(CHOICES)
	python -m flows.repro --force download

plan: $(READY) ## Estimate time and memory of a run by a short calibration [TEXT= LANGUAGES= VALIDATION= TEST= DATA= MODEL= TRAIN= START= SET=]
	python -m stages.configure $(CHOICES)
	python -m flows.repro shard embeddings
	@python -m stages.planning

corpora: $(READY) ## List the corpora of OPUS by the names that settings take [LANGUAGES=de-en]
	python -m stages.configure.corpora $(LANGUAGES)

student: $(READY) ## Train a small, fast model on translations of a large one [TEACHER=models/export TEXT= LANGUAGES= SET=]
	python -m flows.synthesize $(TEACHER) $(addprefix --text ,$(TEXT)) $(addprefix --direction ,$(LANGUAGES)) --student $(SET)
	@python -m stages.reporting.summary

backtranslate: $(READY) ## Train also on back-translated text of the target language [TEACHER= TEXT= LANGUAGES= SET=]
	python -m flows.synthesize $(TEACHER) $(addprefix --text ,$(TEXT)) $(addprefix --direction ,$(LANGUAGES)) --backward $(SET)
	@python -m stages.reporting.summary

flow: $(READY) ## The same as a Prefect flow, one task per stage [TEXT= LANGUAGES= TIME= VALIDATION= TEST= DATA= MODEL= TRAIN= START= SET=]
	python -m stages.configure $(CHOICES)
	$(PIN_TIME)
	python -m flows.train
	@python -m stages.reporting.summary

##@ Compare models

compare: $(READY) ## Train models with equal budgets, and test their differences [MODELS= SECONDS= STEPS= TOKENS= SEEDS=3 TEXT= LANGUAGES= VALIDATION= TEST= DATA= TRAIN= SET=]
	python -m flows.compare $(MODELS) $(WORDS) $(if $(DATA),data=$(DATA)) $(if $(TRAIN),train=$(TRAIN)) $(SET) $(BUDGET)

mlflow: $(READY) $(SERVERS)/ready ## Show all runs with their scores in a browser [PORT=]
	python -m stages.tracking ui $(if $(PORT),--port $(PORT))

sync: $(READY) ## Send missing runs and models to MLflow
	python -m stages.tracking sync

##@ Retrain and serve

server: $(READY) $(SERVERS)/ready ## Run Prefect and MLflow here until Ctrl-C [HOST= PORT_PREFECT= PORT_MLFLOW=]
	python -m infra.servers --leashed $(if $(HOST),--host $(HOST)) $(if $(PORT_PREFECT),--prefect-port $(PORT_PREFECT)) \
	  $(if $(PORT_MLFLOW),--mlflow-port $(PORT_MLFLOW))

deploy: $(READY) ## Create pools, limits, deployments and automations on the Prefect server [SCHEDULE=on|pools|off LEARNING=on|off NOTIFY=ADDRESS|off]
	python -m flows.deploy $(if $(SCHEDULE),--schedule $(SCHEDULE)) $(LEARNING_$(LEARNING))

worker: $(READY) ## Run the flows of a pool here until Ctrl-C [POOL=gpu LIMIT=]
	python -m flows.worker $(POOL) --leashed $(if $(LIMIT),--limit $(LIMIT))

run: $(READY) ## Start a run of a deployed flow [FLOW=train SET=]
	@prefect deployment run $(firstword $(subst -, ,$(FLOW)))/$(FLOW) --params "$$(python -c "$(AS_JSON)" $(SET))"

retrain: $(READY) ## Train on the current text; promote the model only if it is significantly better [SET=]
	python -m stages.configure $(SET)
	python -m flows.retrain

learn: $(READY) ## Fine-tune on users' corrections; promote the model only if it passes both tests [JOURNAL=]
	python -m flows.learn $(if $(JOURNAL),--journal $(JOURNAL))

champion: $(READY) ## Show all registered models and the champion, which is served
	python -m stages.registry show

promote: $(READY) ## Make a version the champion by hand [VERSION= REASON=]
	python -m stages.registry promote $(or $(VERSION),$(error VERSION= is missing; make champion lists all versions)) $(if $(REASON),--reason "$(REASON)")

rollback: $(READY) ## Make the previous champion the champion again [REASON=]
	python -m stages.registry rollback $(if $(REASON),--reason "$(REASON)")

serve: $(READY) ## Serve the champion over HTTP, with a page at http://127.0.0.1:5001 [PORT= CORRECTIONS=FILE MEMORY=FILE]
	python -m stages.registry serve $(if $(PORT),--port $(PORT)) $(if $(CORRECTIONS),--suggestions all --corrections $(CORRECTIONS)) \
	  $(if $(MEMORY),--memory $(MEMORY))

##@ Free disk space

clean: ## Delete checkpoints; journals, models and DVC's cache stay
	rm -rf checkpoints

uninstall: ## Delete all files that git ignores: .venv, models, journals, servers; it asks first [YES=1]
	@git clean -d -X --dry-run
	@test "$(YES)" = 1 || { printf 'Delete all of these? [y/N] ' && read -r answer && test "$$answer" = y; }
	@git clean -d -X --force --quiet

##@ Develop the project

check: $(DEV) ## Check format, lint, types, imports between layers, and declared packages
	ruff format --check
	ruff check
	mypy
	lint-imports
	deptry .

fix: $(DEV) ## Format the code, and fix what the linter can fix
	ruff format
	ruff check --fix

test-fast: $(DEV) ## Run the tests that start no programs, on all cores [SEED=]
	$(PYTEST) -n auto $(FAST) -m "not slow" $(EXAMPLES)

test: $(DEV) ## Run these and one whole pipeline with DVC, Prefect, MLflow and a server: five minutes [SEED=]
	$(PYTEST) -n auto $(WHOLE) $(FAST) -m "not slow or whole" $(EXAMPLES)

test-slow: $(DEV) ## Run all other tests, with kills, outages and Chromium, or a tenth of them [SHARE=1 to 10]
	$(PYTEST) -n 4 -m "slow and not whole" $(if $(SHARE),--share $(SHARE))

test-all: test test-slow ## Run all tests: an hour [SHARE=1 to 10 SEED=]

bench: $(DEV) ## Compare the speed of training with a plain PyTorch loop
	python -m benchmarks.training

gpu-check: $(DEV) ## Run the tests and benchmarks of a GPU: ten minutes
	python -m benchmarks.gpu --variant float32
	python -m benchmarks.gpu --profile
	pytest tests/laws/test_device_laws.py

images: $(DEV) ## Build the images of infra/docker, and start each once [BASE=FOLDER]
	python -m infra.images $(if $(BASE),--base $(BASE))

docs: $(DEV) ## Build the documentation as a site: site/html/index.html
	python -m infra.docs
	uv tool run --quiet --with mkdocstrings-python==2.0.11 --with ruff==0.17.5 zensical==0.0.70 build --clean

lock: $(DEV) ## Pin the packages of pyproject.toml with digests; UPGRADE= allows newer ones [UPGRADE="mlflow prefect"|all]
	echo torch==$(TORCH_VERSION) | $(LOCK) - -o requirements/torch-cuda.txt
	$(NEEDED_BY_TORCH) | $(LOCK) pyproject.toml - --extra dev --excludes <(echo torch) -o requirements/dev.txt
	printf '%s\n' pip setuptools wheel | $(LOCK) - --constraint requirements/dev.txt -o requirements/build.txt
	$(NEEDED_BY_TORCH) | $(LOCK) pyproject.toml - --constraint requirements/dev.txt --extra train --excludes <(echo torch) -o requirements/train.txt
	$(LOCK) pyproject.toml --constraint requirements/dev.txt --extra spacy -o requirements/spacy.txt
	$(LOCK) pyproject.toml --constraint requirements/dev.txt --extra servers -o requirements/servers.txt
	$(LOCK) pyproject.toml --constraint requirements/dev.txt --extra serve -o requirements/serve.txt
	grep -q '^torch==$(TORCH_VERSION)+cpu' requirements/torch-cpu.txt || echo torch==$(TORCH_VERSION)+cpu \
	  | $(LOCK) - --no-deps --find-links $(TORCH_CPU) -o requirements/torch-cpu.txt

audit: $(DEV) ## Ask PyPI whether the pinned packages have known vulnerabilities
	@uv tool run --quiet pip-audit --disable-pip --require-hashes -r requirements/dev.txt -r requirements/torch-cuda.txt \
	  || { echo "make audit: a package is vulnerable (make lock UPGRADE=NAME), or PyPI did not answer" >&2; exit 1; }
