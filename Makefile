# `make` lists the targets. Go and, for the development database, Node.js 20 with npm have to be there.

GO       ?= go
BIN      := $(CURDIR)/.bin
LINTER_VERSION := v2.12.2
LINTER   := $(BIN)/golangci-lint-$(LINTER_VERSION)
# Options of `make bench`, for instance BENCH="--count 20000 --backlog 100000".
BENCH    ?=
# What `make test` tests.
PKG      ?= ./...

.DEFAULT_GOAL := help
.PHONY: help build test lint fmt bench dev ci

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/spky
	$(GO) build -o bin/spky ./cmd/spky

test: ## run all tests, with the race detector, in random order
	$(GO) test -race -shuffle=on $(PKG)

lint: $(LINTER) ## run the linters
	$(LINTER) run

fmt: $(LINTER) ## format the Go code
	$(LINTER) fmt

bench: build ## measure jobs/s and latency on the configured database
	bin/spky bench jobs $(BENCH)

dev: ## start database, runner and the example backend
	$(GO) run ./cmd/spky dev

ci: ## what has to pass before a change goes in
	$(GO) mod verify
	$(MAKE) lint build test

# The version is in the name, so that another one is installed when it changes.
$(LINTER):
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTER_VERSION)
	mv $(BIN)/golangci-lint $@
