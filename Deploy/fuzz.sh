#!/usr/bin/env bash
# Fuzzes the parsers with libFuzzer and AddressSanitizer: Deploy/fuzz.sh [seconds for each target, 60] [target…]
#
# TIDEGATE_FUZZ_JOBS targets run at the same time (default: one for each processor). The seconds are wall-clock time; if
# there are more targets than processors, they share these. The line of each target has its CPU time.
#
# TIDEGATE_CORPUS names the folder for interesting inputs (default .build-fuzz/corpus); the seeds in Tests/Fuzz/Seeds
# are used, too. If an input breaks something, the script stores it in .build-fuzz/found and ends with an error. To run
# it again: `TIDEGATE_FUZZ_TARGET=NAME .build-fuzz/release/tidegate-fuzz FILE`.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

seconds=${1:-60}
shift || true
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || fail "the first argument is seconds, not '$seconds': Deploy/fuzz.sh [seconds] [target…]"
jobs=${TIDEGATE_FUZZ_JOBS:-$(nproc)}
[[ "$jobs" =~ ^[1-9][0-9]*$ ]] || fail "TIDEGATE_FUZZ_JOBS is a number of targets, not '$jobs'"

say "Build"
# The compiler uses only the last -sanitize, and the package manager passes one for each sanitizer in an undefined
# order. So an option for both is last.
TIDEGATE_FUZZ=1 swift build -c release --sanitize address --sanitize fuzzer -Xswiftc -sanitize=address,fuzzer \
  -Xswiftc -enable-testing --scratch-path .build-fuzz --product tidegate-fuzz
fuzzer=$PWD/.build-fuzz/release/tidegate-fuzz
for part in asan.module_ctor sancov.module_ctor; do
  nm .build-fuzz/release/HTTP1.build/*.o 2>/dev/null | grep "$part" >/dev/null || fail "the parsers were built without $part, so fuzzing would find nothing"
done
corpus=${TIDEGATE_CORPUS:-$PWD/.build-fuzz/corpus}
found=$PWD/.build-fuzz/found
mkdir -p "$corpus" "$found"

# No leak check: it would report one-time tables of the Swift runtime. No backtraces: after a trap the backtracer may
# hang.
export ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no

declare -A longest
while read -r name length; do longest[$name]=$length; done < <("$fuzzer")
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$fuzzer" | cut -d ' ' -f 1)

for target in "${targets[@]}"; do
  [ -n "${longest[$target]:-}" ] || fail "'$target' is not a fuzz target; the targets are: ${!longest[*]}"
done

# One input may take 10 s of a processor. If processors are shared, that is more wall-clock time.
patience=$((10 * (1 + (jobs - 1) / $(nproc))))

# Runs one target. Prints a line with its result, or the end of libFuzzer's output. False if a promise was broken.
fuzz() {
  local target=$1 seeds=Tests/Fuzz/Seeds/$1 log=$found/$1.log cpu status=0 TIMEFORMAT='%U %S'
  local options=(
    -max_total_time="$seconds" -max_len="${longest[$target]}" -timeout="$patience" -rss_limit_mb=2048 -malloc_limit_mb=256
    -print_final_stats=1 -verbosity=1 -artifact_prefix="$found/$target-"
  )
  [ ! -f "$seeds.dict" ] || options+=(-dict="$seeds.dict")
  mkdir -p "$corpus/$target"
  cpu=$({ time TIDEGATE_FUZZ_TARGET=$target "$fuzzer" "${options[@]}" "$corpus/$target" "$seeds" 2> "$log" >&2; } 2>&1) || status=$?
  if [ $status -ne 0 ]; then
    tail -n 40 "$log"
    say "$target broke a promise; the input is in $found"
    return 1
  fi
  # libFuzzer's lines: "#runs word cov: edges … rss: megabytesMb". Growth shows between half of the runs and the end.
  awk -v target="$target" -v cpu="$cpu" '
    /^#[0-9]+\t/ {
      at = substr($1, 2) + 0
      for (i = 2; i < NF; i++) { if ($i == "cov:") edges = $(i + 1); if ($i == "rss:") memory[++count] = $(i + 1) + 0 }
      reached[count] = at
    }
    /number_of_executed_units/ { runs = $2 }
    /peak_rss_mb/ { peak = $2 }
    END {
      for (i = 1; i < count && reached[i] < runs / 2; i++);
      split(cpu, spent, " ")
      printf "%-18s %11d runs %8.0f s of CPU %6d edges %5d MB half way %5d MB at most\n", target, runs, spent[1] + spent[2], edges, memory[i], peak
    }' "$log"
}

say "${#targets[@]} targets, $seconds s each, $jobs at a time; the output of libFuzzer is in $found"
# Each target has its own process group, which ends with this script.
set -m
trap 'for group in $(jobs -p); do kill -- "-$group" 2>/dev/null || true; done' EXIT
bad=0
running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$jobs" ]; then
    wait -n || bad=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || bad=1
  running=$((running - 1))
done
exit $bad
