# `make` alone lists what there is.

BIN := .venv/bin
READY := .venv/.ready
READY_BENCH := .venv/.ready-bench
READY_BROWSER := .venv/.ready-browser
READY_DOCS := .venv/.ready-docs
READY_PDF := .venv/.ready-pdf
READY_VLLM := .venv-vllm/.ready

STUDY ?= moderation
RESULTS ?= results/demo
SEED ?= 1
RECORDED := data/recorded/moderation_smollm2_135m.parquet
# The recorded judge saw the pairs of seed 1.
REAL := $(if $(filter 1,$(SEED)),--data results/demo/run/choices.parquet)
PYTEST_ARGS ?= -n auto --maxprocesses 4 --dist loadfile

# R reads labels beyond ASCII only in a UTF-8 locale.
LANG ?= C.UTF-8
export LANG

# Without bytecode every worker of pytest rewrites all tests anew, and every process compiles the package.
unexport PYTHONDONTWRITEBYTECODE

# Workers of pytest share the processors; threads of BLAS in each would wait for each other.
test test-bayes test-long test-mutants test-slow: export OPENBLAS_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo panel report docs docs-links image check-r test test-bayes test-ceilings test-cluster test-long test-mutants test-pdf test-portable test-slow test-vllm lint format bench clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## prepare Python, uv, R and the environment in .venv (the other targets do so themselves)

demo: $(READY) ## simulate the moderation study, replay a real judge, estimate, check, compare, render all reports
	@mkdir -p results/demo
	$(BIN)/conjury simulate moderation --seed $(SEED) --out results/demo/choices.parquet
	$(if $(REAL),$(BIN)/conjury collect moderation --judge smollm2_135m --backend replay --recorded $(RECORDED) \
		--pairs 2000 --out results/demo/run)
	$(BIN)/conjury fit moderation --data results/demo/choices.parquet $(REAL) --out results/demo
	$(BIN)/conjury check moderation --results results/demo --fail-on none
	$(BIN)/conjury compare moderation --results results/demo --engines native,survey,statsmodels,linearmodels
	$(BIN)/conjury report moderation --results results/demo --out reports
	$(BIN)/conjury report diagnostics --results results/demo --out reports
	$(BIN)/conjury report estimators --results results/demo --out reports
	@echo "Open moderation.html, diagnostics.html and estimators.html in reports. To go on from here:"
	@echo "  $(BIN)/conjury compare moderation --results results/demo --analysis mm --judge human"
	@echo "  $(BIN)/conjury report moderation --results results/demo --out reports"
	@echo "  $(BIN)/conjury report estimators --results results/demo --out reports"

panel: $(READY) ## simulated people take part in the moderation study, beside a simulated model on the same tasks
	$(BIN)/conjury panel moderation --demo --people 40 --no-stay --out results/panel/run
	$(BIN)/conjury collect moderation --judge gpt4o --prompt baseline --backend simulated --tasks panel --out results/panel/run
	$(BIN)/conjury fit moderation --data results/panel/run/people/choices.parquet --data results/panel/run/choices.parquet \
		--draws 200 --out results/panel
	@echo "People beside the model: results/panel/figures/amce_people.png; answers of people: results/panel/run/people"
	@echo "Pages to look at: $(BIN)/conjury panel moderation --demo"

report: $(READY) ## render the report of RESULTS=results/demo again
	$(BIN)/conjury report $(STUDY) --results $(RESULTS) --out reports

test: $(READY) $(READY_BROWSER) ## run the tests of Python and of R
	$(BIN)/python -m pytest $(PYTEST_ARGS)
	@if command -v Rscript >/dev/null; then echo Rscript R/tests/run.R; Rscript R/tests/run.R; else echo "no Rscript: the tests of R/ are left out"; fi

docs: $(READY) $(READY_DOCS) ## build the site in build/docs/html: run every page, draw the gallery, check links
	$(BIN)/python docs/_ext/build.py

image: ## build the image of the Dockerfile with podman, buildah or docker, and run a command in it
	.ci/image.sh

docs-links: $(READY_DOCS) ## ask the sites that the built pages link to whether they are there
	$(BIN)/python docs/_ext/build.py --linkcheck

check-r: $(READY) ## build the R package, run R CMD check, all its tests and its guide
	$(BIN)/python -m pytest -m "r and slow" tests/analysis/r/test_package.py

test-bayes: $(READY) ## fit the Bayesian models, and compare them with clmm and with known truth
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "bayes and not slow" tests/analysis/raters tests/analysis/conjoint/bayes tests/test_examples.py

test-ceilings: $(READY) ## compare processor time with that of pandas and numpy (on a machine that does nothing else)
	$(BIN)/python -m pytest -m ceiling tests/ceilings

test-long: $(READY) ## run whole studies from the command line, and the coverage of intervals
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "long and not slow and not bayes and not pdf and not database and not cluster and not ceiling" tests

test-database: $(READY) ## compare tables in DuckDB, Delta, Iceberg and Spark with rows in memory (Spark needs Java)
	@.ci/setup.sh database
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m database tests/analysis/conjoint/stored tests/analysis/benchmark/test_stored_scores.py

test-cluster: $(READY) ## judge on Ray on this machine, with workers and drivers that are killed
	@.ci/setup.sh cluster
	$(BIN)/python -m pytest -m cluster tests/cluster tests/cli/test_cluster_examples.py

test-mutants: $(READY) ## see whether tests notice small changes of the code (hours; CHANGED=1: of changed lines only, 10 minutes)
	PYTHONPATH=tests $(BIN)/python -m mutants $(if $(CHANGED),--changed) $(MUTANTS_ARGS)

test-pdf: $(READY_PDF) ## set PDF reports with pandoc and typst and look at each page
	$(BIN)/python -m pytest -m pdf tests/analysis/report

test-portable: $(READY) ## run the tests of Python with the rounding of a processor without AVX-512
	.ci/portable.sh $(BIN)/python -m pytest $(PYTEST_ARGS)

test-slow: $(READY) ## costly cases of all kinds: calibration of the models, truth at the size of the papers, each wing deleted (hours)
	$(BIN)/python -m pytest $(PYTEST_ARGS) -o timeout=3600 -m "slow and not vllm" tests

test-vllm: $(READY_VLLM) ## run a real small model with vLLM (sets up 3.7 GB of its own)
	HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_ENABLE_V1_MULTIPROCESSING=0 VLLM_CPU_KVCACHE_SPACE=1 \
		VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1 .venv-vllm/bin/python -m pytest -m "vllm and not slow" tests/vllm

lint: $(READY) ## check style, types, paths, rooms, docstrings, names and sizes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers auto
	.ci/check-paths.sh
	$(BIN)/python .ci/check_rooms.py
	$(BIN)/python .ci/check_docstrings.py
	$(BIN)/python .ci/check_names.py
	$(BIN)/python .ci/check_sizes.py

format: $(READY) ## put the code into the project's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY_BENCH) ## measure against the peers
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/designs.py
	$(BIN)/python benchmarks/collecting.py
	$(BIN)/python benchmarks/run.py --size
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/benchmark_metrics.py
	$(BIN)/python benchmarks/raters.py ordinal
	$(BIN)/python benchmarks/raters.py dimensions
	$(BIN)/python benchmarks/media.py
	$(BIN)/python benchmarks/vignettes.py
	$(BIN)/python benchmarks/published.py
	$(BIN)/python benchmarks/panel.py
	$(BIN)/python benchmarks/commands.py
	$(BIN)/python benchmarks/reading.py --figure .github

clean: ## remove what the other targets made, but not .venv or other results
	rm -rf build dist *.egg-info results/demo results/panel quarto/.quarto .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find reports -mindepth 1 ! -name README.md -delete
	find . -name '.venv*' -prune -o -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf .venv .venv-vllm .uv .cache

$(READY): pyproject.toml uv.lock .ci/setup.sh
	@.ci/setup.sh base
	@touch $@

$(READY_BENCH): $(READY)
	@.ci/setup.sh bench
	@touch $@

$(READY_BROWSER): $(READY)
	@.ci/setup.sh browser
	@touch $@

$(READY_DOCS): $(READY)
	@.ci/setup.sh docs
	@touch $@

$(READY_PDF): $(READY)
	@.ci/setup.sh pdf
	@touch $@

$(READY_VLLM): tests/vllm/requirements.txt tests/vllm/model.py .ci/setup.sh
	@.ci/setup.sh vllm
	@touch $@
