#!/usr/bin/env bash
# The complete check: lints, builds with the import check, runs every test, and lets other people's clients connect.
# TIDEGATE_SCRATCH names the build folder (default .build-test).
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# Begins a stage, and notes how long the one before it took. The times are printed at the end, however that comes.
stages=()
stage=
stage() { # name
  local now=$SECONDS
  [ -z "$stage" ] || stages+=("$(printf '%4d s  %s' $((now - begun)) "$stage")")
  stage=$1
  begun=$now
  [ -z "$1" ] || say "$1"
}
print_stages() {
  local status=$?
  [ $status -eq 0 ] || stage="$stage (failed)"
  stage ""
  say "Time by stage (wall clock, $(nproc) processors)"
  printf '    %s\n' "${stages[@]}" "$(printf '%4d s  in all' $SECONDS)" >&2
  exit $status
}
trap print_stages EXIT

stage "Format"
swift format lint --strict --parallel --configuration .swift-format -r Package.swift Sources Tests Benchmarks

# The benchmarks are built, too, so that they cannot rot. They need packages that a plain build does not resolve. In one
# folder the two package graphs would alternate, and each change builds everything again.
export TIDEGATE_BENCHMARKS=1
# All tests run on optimized code, with its assertions: most of their time is computing.
export TIDEGATE_OPTIMIZED_TESTS=1
scratch=${TIDEGATE_SCRATCH:-.build-test}

stage "Build (arrows between targets are checked)"
swift build --scratch-path "$scratch" --build-tests --explicit-target-dependency-import-check error

stage "Tests"
run_tests --scratch-path "$scratch" --parallel

# A debug build hides some faults: memory that is used after its end often still has its value there, but not in a
# release.
stage "Tests of a release build, without input and output"
(
  unset TIDEGATE_BENCHMARKS
  export TIDEGATE_SANS_IO=1
  release=(-c release --scratch-path "$scratch-release" -Xswiftc -enable-testing)
  swift build "${release[@]}" --build-tests
  run_tests "${release[@]}"
)

binary=$(swift build --scratch-path "$scratch" --show-bin-path)/tidegate
# A gateway refuses variables of its name that it does not know.
unset TIDEGATE_OPTIMIZED_TESTS

stage "Console: tidegate.js in Node, the pages in chromium"
TIDEGATE_EXECUTABLE=$binary bash Tests/Console/run.sh

stage "Peers: other people's clients"
PEER_BINARY=$binary bash Tests/Peers/run.sh

say "All good"
