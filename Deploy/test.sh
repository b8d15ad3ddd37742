#!/usr/bin/env bash
# Everything that must hold: builds with the import check, lints, runs every test, and lets other people's clients connect.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

say "Format"
swift format lint --strict --parallel --configuration .swift-format -r Package.swift Sources Tests Benchmarks

# The benchmarks are built along, so that they cannot rot. One package graph for all that follows: nothing is built twice.
export TIDEGATE_BENCHMARKS=1

say "Build (arrows between targets are checked)"
swift build --build-tests --explicit-target-dependency-import-check error

say "Tests"
run_tests --parallel

say "Peers: other people's clients"
bash Tests/Peers/run.sh

say "All good"
