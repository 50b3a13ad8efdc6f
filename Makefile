# `make` lists the targets. Go and, for the development database, Node.js 20 with npm have to be there.

GO       ?= go
BIN      := $(CURDIR)/.bin
LINTER_VERSION := v2.12.2
LINTER   := $(BIN)/golangci-lint-$(LINTER_VERSION)
VULNCHECK_VERSION := v1.9.0
RERUNNER_VERSION := v1.13.0
RERUNNER := $(BIN)/gotestsum-$(RERUNNER_VERSION)
# Options of `make bench`, for instance BENCH="--save" or BENCH="--rows 1000000".
BENCH    ?=
# What `make test` tests.
PKG      ?= ./...
# AGAIN=1 runs a test that failed once more, for a machine that is nobody's own. A data race, more than three
# failures and the end of a whole package get no second run, and what had one is named at the end.
AGAIN    ?=

.DEFAULT_GOAL := help
.PHONY: help build test lint vuln fmt bench dev ci

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/spky
	$(GO) build -o bin/spky ./cmd/spky

FLAGS = -race -shuffle=on -timeout 18m
test: $(if $(AGAIN),$(RERUNNER)) ## run all tests, with the race detector, in random order
ifdef AGAIN
	rm -f $(BIN)/again
	$(RERUNNER) --format pkgname --packages '$(PKG)' --rerun-fails=1 --rerun-fails-max-failures=3 \
		--rerun-fails-run-root-test --rerun-fails-abort-on-data-race --rerun-fails-report $(BIN)/again -- $(FLAGS)
	@if [ -s $(BIN)/again ]; then echo '!!! FAILED AT FIRST, WHICH IS A FAULT OF ITS OWN:'; cat $(BIN)/again; fi
else
	$(GO) test $(FLAGS) $(PKG)
endif

# The cache is the checkout's own: a shared one answers with the paths of other checkouts, whose
# //nolint comments cannot be read once they are gone.
lint: export GOLANGCI_LINT_CACHE = $(BIN)/lint-cache
lint: $(LINTER) ## run the linters
	$(LINTER) run

vuln: ## look for known vulnerabilities, where their database can be reached
	.ci/vuln $(VULNCHECK_VERSION) $(BIN)

fmt: $(LINTER) ## format the Go code
	$(LINTER) fmt

bench: build ## every figure in one table, beside the last one; --save makes it the last one
	bin/spky bench all --devdb $(BENCH)

dev: ## start database, runner and the example backend
	$(GO) run ./cmd/spky dev

ci: ## what has to pass before a change goes in
	$(GO) mod verify
	$(MAKE) lint vuln build test

# The version is in the name, so that another one is installed when it changes.
$(LINTER):
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTER_VERSION)
	mv $(BIN)/golangci-lint $@

$(RERUNNER):
	GOBIN=$(BIN) $(GO) install gotest.tools/gotestsum@$(RERUNNER_VERSION)
	mv $(BIN)/gotestsum $@
