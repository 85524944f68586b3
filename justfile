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

# Validate and plan the examples.
examples:
    scripts/examples

# Write the spec reference and the JSON Schema again.
generate:
    scripts/generate

# Time the pure heart; the figures are in docs/benchmarks.md.
bench:
    cargo bench -p scenario

# Property tests with many random cases.
explore cases="10000":
    PROPTEST_CASES={{cases}} cargo test --workspace

# Fuzz the spec loader for some seconds.
fuzz seconds="60":
    scripts/fuzz {{seconds}}

# Licences, bans and who may use what, for who has cargo-deny.
deny:
    cargo deny check bans licenses sources

# The documentation of the code, in a browser.
docs:
    cargo doc --workspace --no-deps --document-private-items --open
