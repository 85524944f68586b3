set positional-arguments

# Everything that CI runs, and nothing else.
ci:
    .ci/run

# Format the code.
fmt:
    cargo fmt --all

# Formatting, clippy and documentation, with warnings as errors.
lint:
    scripts/lint

# All tests; arguments go to the test runner.
test *arguments:
    scripts/test "$@"

# Validate and plan the examples, and run the README's.
examples:
    scripts/examples

# Ignore each field of the language in the example that covers it, and see that it is noticed.
fields *fields:
    scripts/fields "$@"

# Write the spec reference and the JSON Schema again.
generate:
    scripts/generate

# Time the pure heart; the figures are in docs/benchmarks.md.
bench:
    cargo bench -p scenario -p tool_contracts

# Time sandboxes beside the Docker calls that they are made of, and without Docker beside bubblewrap; the figures are in
# docs/benchmarks.md.
bench-sandbox:
    scripts/images
    cargo bench -p engine --bench sandbox

# Time what gateways add to a request, beside a plain server; the figures are in docs/benchmarks.md.
bench-gateway:
    cargo bench -p gateways --bench gateway

# Time a job in the queue, with more and more jobs that were done before it, on SQLite and Postgres.
bench-store:
    scripts/bench-store

# Time `touchstone run` beside the Docker calls and the engine that it is made of; the figures are in docs/benchmarks.md.
bench-run:
    scripts/bench-run

# Times `touchstone run` without Docker.
bench-local:
    scripts/bench-local

# Time what the worker and its store add to each scenario; the figures are in docs/benchmarks.md.
bench-worker:
    cargo bench --profile release -p worker --bench keeping

# A live server, used with the stock Keystone SDK and with schemathesis; arguments go to pytest.
sdk *arguments:
    scripts/test-sdk "$@"

# Kill servers and workers, and cut their databases off, at 8 points; `--more` for 24, `--all` for all of them.
crashes *arguments:
    scripts/crash-matrix "$@"

# Bring the stack of docker-compose.yml up, use it, scale it, and take it down.
compose:
    scripts/test-compose

# Time pages with little and with much behind them; the figures are in docs/benchmarks.md.
bench-pages *arguments:
    cargo build --release --bin touchstone
    scripts/bench-pages "$@"

# The pages of a live server in a browser; arguments go to pytest.
pages *arguments:
    scripts/test-pages "$@"

# Every fault as stock clients from PyPI see it; arguments go to pytest.
fault-clients *arguments:
    scripts/test-fault-clients "$@"

# Tools as stock clients of MCP from PyPI use them; arguments go to pytest.
tool-clients *arguments:
    scripts/test-tools "$@"

# Make the pictures of docs/images from real runs.
pictures:
    scripts/pictures

# A server under load; the figures are in docs/benchmarks.md.
load *arguments:
    cargo build --release --bin touchstone
    scripts/load "$@"

# Run many scenarios in one process, and watch its memory and what it leaves behind.
soak count="2000":
    scripts/soak {{count}}

# Show by simulation how often a comparison is wrong and how often it is right; with --scipy, compare the exact tests with scipy.
simulate *arguments:
    scripts/simulate "$@"

# What takes too long for each change: all examples on Docker, all crash points, stock clients, a soak, fuzzing, many random cases.
nightly:
    TOUCHSTONE_EVERY_EXAMPLE=1 scripts/test run_examples
    scripts/crash-matrix --all
    scripts/test-fault-clients
    scripts/test-tools
    scripts/soak 2000
    scripts/fuzz 600
    PROPTEST_CASES=10000 cargo test --workspace

# Property tests with many random cases.
explore cases="10000":
    PROPTEST_CASES={{cases}} cargo test --workspace

# Fuzz the spec loader and the doorkeeper's protocol for some seconds each.
fuzz seconds="60":
    scripts/fuzz {{seconds}}

# Licences, bans and who may use what, for who has cargo-deny.
deny:
    cargo deny check bans licenses sources

# The documentation of the code, in a browser.
docs:
    cargo doc --workspace --no-deps --document-private-items --open
