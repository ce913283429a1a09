# Every target is meant to be run as it is, here and by the checks. `make` alone prints this list.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
# The linter lives in a module of its own (.ci/tools), so that go.mod lists only what the product is built of.
LINT    := $(GO) tool -modfile=.ci/tools/go.mod golangci-lint
# How long each fuzz target runs.
FUZZTIME ?= 30s
# How long the soak keeps its load steady, and the plan of the chaos test: 0 draws a seed.
SOAK    ?= 10m
SEED    ?= 0
REQUESTS ?= 20000
IMAGE   ?= gpustack-gateway:$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help run build console test lint bench microbench fuzz chaos soak image test-agents test-console clients browser screenshots

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run a demo on loopback: the gateway before simulated engines, with commands to try
	$(GO) run -ldflags '$(LDFLAGS)' ./cmd/gpustack-gateway demo $(ARGS)

build: ## Build the static binary bin/gpustack-gateway
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/gpustack-gateway ./cmd/gpustack-gateway

console: gateway/admin/console/web/node_modules/.package-lock.json ## Check the console's sources and build them into what is committed
	cd gateway/admin/console/web && npm run --silent check && npm run --silent build

test: clients ## Run every test under the race detector, allocation tests, and each benchmark once
	$(GO) test -race -timeout 10m ./...
	$(GO) test -run 'Alloc' -bench . -benchtime 1x ./...

clients: internal/clienttest/node_modules/.package-lock.json

browser: internal/consoletest/node_modules/.package-lock.json

# npm writes this file last, so it stands for a complete installation.
%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --silent
	@touch $@

screenshots: browser ## Take the pictures of the console that its documentation shows
	mkdir -p docs/img && CONSOLE_SCREENSHOTS=$(CURDIR)/docs/img $(GO) test -count=1 -run TestScreenshots ./internal/consoletest

test-console: browser ## Use the console in a browser as an operator does
	CONSOLE_TEST=1 $(GO) test -race -count=1 -timeout 10m ./internal/consoletest

test-agents: ## Run Codex, Claude Code and opencode through the gateway (installs about 1 GB)
	GATEWAY_TEST_AGENTS=1 $(GO) test -count=1 -v -timeout 20m -run TestAgents ./internal/clienttest

lint: ## Check formatting, vet, lint rules and go.mod
	@test -z "$$(gofmt -l cmd gateway lb plugins route openai internal)" || { gofmt -d cmd gateway lb plugins route openai internal; exit 1; }
	$(GO) vet ./...
	$(LINT) run
	$(GO) mod tidy -diff

bench: build ## Measure the gateway beside nginx, HAProxy and others: an hour on a quiet machine (ARGS='-only cpu')
	$(GO) run ./internal/bench $(ARGS)

microbench: ## Run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz: ## Run each fuzz target for FUZZTIME (30s)
	.ci/fuzz $(FUZZTIME)

chaos: ## Break everything around the gateway at once and print the figures (SEED, REQUESTS)
	$(GO) test -race -count=1 -v -timeout 20m ./internal/chaos -args -seed $(SEED) -requests $(REQUESTS)

soak: build ## Load the gateway steadily for SOAK (10m) and say whether it grows
	$(GO) run ./internal/soak -for $(SOAK)

image: ## Build the container image with docker
	docker build --build-arg VERSION=$(VERSION) -t $(IMAGE) .
