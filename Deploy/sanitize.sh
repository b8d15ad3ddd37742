#!/usr/bin/env bash
# The test-suite under a sanitizer: Deploy/sanitize.sh thread|address [filter of swift test]
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

sanitizer=${1:-}
case "$sanitizer" in
  thread)
    scratch=.build-tsan
    export TIDEGATE_THREAD_SANITIZER=1
    ;;
  address) scratch=.build-asan ;;
  *) fail "the first argument is a sanitizer: Deploy/sanitize.sh thread|address [filter]" ;;
esac
filter=()
[ -z "${2:-}" ] || filter=(--filter "$2")

# No leak check: LeakSanitizer reports one-time tables of the Swift runtime. No backtraces: after a trap the backtracer
# may hang.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" SWIFT_BACKTRACE=enable=no

# A sanitizer makes code about ten times slower. Tests that run gateways and venues in real time would starve each
# other, so all tests run one after the other. Tests with random seeds use fewer of them.
export TIDEGATE_SEEDS=${TIDEGATE_SEEDS:-20}

say "Build with ${sanitizer}sanitizer"
swift build --build-tests --sanitize "$sanitizer" --scratch-path "$scratch"

say "Tests"
run_tests --no-parallel --sanitize "$sanitizer" --scratch-path "$scratch" ${filter[@]+"${filter[@]}"}
# A report does not fail a test by itself.
! grep -qE 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer' "$log" || fail "the sanitizer found something: see above"
say "Clean"
