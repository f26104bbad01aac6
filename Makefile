# The commands of this project; `make` alone lists them.

.DEFAULT_GOAL := help

# Builds on this machine carry no version control stamp: git refuses to give one where the checkout belongs to
# somebody else, and Go then refuses to build. The image's build (Dockerfile) names its version by itself.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

# What reads settings runs under this: the environment's, then those of .env.
WITH_ENV := bash scripts/env bash -c

TOOL := go tool -modfile=tools.mod
WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/e2e/*' -not -path 'web/screenshots/*' 2>/dev/null)

.PHONY: help
help: ## List these commands
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# ---- to run it

.PHONY: run
run: ## Serve http://localhost:8080 on this machine: database, sign-in and web page included
	@bash scripts/setup go
	@$(WITH_ENV) '[ -n "$$DATABASE_URL" ] || exec bash scripts/setup postgresql'
	@echo 'run: building the page and the server; the first time, this fetches and compiles what they are made of' >&2
	@if bash scripts/setup node; then $(MAKE) --silent --no-print-directory web; \
		else echo 'run: going on without the web page' >&2; fi
	@go build -o bin/server ./cmd/server
	@$(WITH_ENV) 'APP_ENV=$${APP_ENV:-development} exec bin/server serve'

.PHONY: demo
demo: ## Show the promises against a running server (URL=…, else where the settings have it; ARGS=…)
	@bash scripts/setup go
	@$(WITH_ENV) 'addr=$${HTTP_ADDR:-:8080}; exec go run ./cmd/demo -url "$${URL:-$${PUBLIC_URL:-http://localhost:$${addr##*:}}}" $$ARGS'

.PHONY: compose-up
compose-up: ## Build and start the containers of docker-compose.yml, and wait until they are healthy
	docker compose up --build --wait

.PHONY: compose-down
compose-down: ## Stop the containers and forget their data
	docker compose down --volumes

.PHONY: compose-test
compose-test: web/node_modules/.package-lock.json ## Try docker-compose.yml for real, with Redis and a server killed in the middle (COMPOSE_PREPARE=command)
	@bash scripts/setup go node chromium
	@bash scripts/compose-test

# ---- to work on it

.PHONY: dev
dev: web/node_modules/.package-lock.json ## Serve http://localhost:5173 while working on it: every change shows, of the page and of the server
	@bash scripts/setup go node
	@$(WITH_ENV) '[ -n "$$DATABASE_URL" ] || exec bash scripts/setup postgresql'
	@$(WITH_ENV) 'cd web && exec npm run --silent dev'

.PHONY: test
test: ## Run every test: Go with the race detector, the web page's, and the page in a browser
	@bash scripts/setup go compiler postgresql pgbouncer redis node chromium
	go test -race -timeout 30m ./...
	@$(MAKE) --no-print-directory test-web
	@$(MAKE) --no-print-directory e2e

.PHONY: test-web
test-web: web/node_modules/.package-lock.json ## Run the web page's tests alone
	cd web && npm test

.PHONY: fuzz-api
fuzz-api: ## Send 50 000 malformed requests over all routes to a real server (REQUESTS=50000, SEED=1)
	@bash scripts/setup go postgresql
	go test ./internal/app -run TestMalformedRequests -count=1 -v -timeout 60m -malformed $(or $(REQUESTS),50000) -malformed-seed $(or $(SEED),1)

.PHONY: soak
soak: ## Call two servers through the proxy while what they stand on is killed, and reconcile what was told with the database (FOR=5m, CLIENTS=200)
	@bash scripts/setup go postgresql redis caddy
	go test ./internal/app -tags soak -run TestSoak -count=1 -v -timeout 60m -soak-for $(or $(FOR),5m) -soak-clients $(or $(CLIENTS),200)

.PHONY: load
load: ## Call a server while a flood comes from the same address, and show who got through and how long it took (FOR=15s, twice)
	@bash scripts/setup go postgresql redis
	go test ./internal/app -tags soak -run TestLoad -count=1 -v -timeout 60m -load-for $(or $(FOR),15s)

.PHONY: e2e
e2e: web/node_modules/.package-lock.json ## Drive the web page with a real browser against real servers
	@bash scripts/setup go node postgresql redis chromium
	cd web && npm run e2e

.PHONY: screenshots
screenshots: web/node_modules/.package-lock.json ## Take pictures of every page into web/screenshots, in both themes, narrow and wide
	@bash scripts/setup go node postgresql redis chromium
	cd web && npm run screenshots

.PHONY: dashboard
dashboard: web/node_modules/.package-lock.json ## Draw what the dashboard shows of a flood, an outage and the recovery into docs/images
	@bash scripts/setup go node postgresql redis chromium prometheus
	cd web && npm run dashboard

.PHONY: check
check: vet lint vulnerabilities verify check-web ## Run every check that is not a test, and the rules of imports
	go test -run 'Imports|Contract|ModulePath|Dependencies' ./internal/house

.PHONY: vet
vet:
	@bash scripts/setup go compiler
	go vet -tags soak ./...

.PHONY: lint
lint: ## Lint the Go code, its formatting included
	$(TOOL) golangci-lint run

.PHONY: vulnerabilities
vulnerabilities:
	@bash scripts/vulnerabilities

.PHONY: verify
verify: ## Check that what is generated is what `make generate` would write
	@bash scripts/verify-generated

.PHONY: check-web
check-web: web/node_modules/.package-lock.json
	cd web && npm run check

.PHONY: fmt
fmt: ## Format the code
	$(TOOL) golangci-lint fmt
	cd web && npm run fmt

.PHONY: generate
generate: ## Write anew what is generated: database access, OpenAPI, .env.example, the settings in README.md
	$(TOOL) sqlc generate -f db/sqlc.yaml
	go test ./internal/openapi ./internal/config -update

.PHONY: simulate
simulate: ## Simulate the SDK's promise at full size: 50 seeds of 20 minutes, 30 callers (tests do a smaller run)
	go test -race -count=1 -v -run 'NeverRefuses|AtLength' ./mobileclient -full | grep -E '^( *---|ok|FAIL|panic)|refused'

.PHONY: crowd
crowd: ## Measure what several clients of one person are refused, as docs/sdk.md says it
	go test -count=1 -v -run '^TestCrowd$$' ./mobileclient

.PHONY: bind-check
bind-check: ## Bind the SDK for phones, and run a Java program with it against a server (a JDK and a C compiler)
	@bash scripts/setup go compiler jdk
	@bash scripts/bind-check

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: web
web: web/dist/index.html ## Build the web page that the server embeds

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@bash scripts/setup node
	cd web && npm ci --include=dev
	@touch $@

web/dist/index.html: web/node_modules/.package-lock.json api/spec/openapi.json $(WEB_SOURCES)
	cd web && npm run build
	@touch $@

# ---- to make it one's own

.PHONY: rename
rename: ## Give a fork its own module path (MODULE=example.org/you/app)
	@bash scripts/setup go
	@go run ./scripts/rename $(MODULE)

# example:begin
.PHONY: remove-example
remove-example: ## Take the example domain out of a fork: tasks, their parser and reports
	@bash scripts/setup go
	@go run ./scripts/removeexample

.PHONY: fork-check
fork-check: ## Make a fork without the example domain in a folder of its own, and run all of its checks and tests
	@bash scripts/setup go compiler postgresql redis node chromium
	@bash scripts/fork-check
# example:end
