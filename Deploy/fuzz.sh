#!/usr/bin/env bash
# Fuzzes the parsers with libFuzzer and AddressSanitizer: Deploy/fuzz.sh [seconds for each target, 60] [target…]
#
# TIDEGATE_CORPUS names the folder that keeps what was found to be interesting (default .build-fuzz/corpus); it begins with the
# seeds of Tests/Fuzz/Seeds. An input that breaks something is kept in .build-fuzz/found, and this script ends with an error;
# `TIDEGATE_FUZZ_TARGET=NAME .build-fuzz/release/tidegate-fuzz FILE` runs it again.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

seconds=${1:-60}
shift || true
[[ "$seconds" =~ ^[0-9]+$ ]] || fail "the first argument is seconds, not '$seconds': Deploy/fuzz.sh [seconds] [target…]"

say "Build"
# The compiler takes the last -sanitize alone, and the package manager gives one for each in no certain order: one for both comes last.
TIDEGATE_FUZZ=1 swift build -c release --sanitize address --sanitize fuzzer -Xswiftc -sanitize=address,fuzzer \
  --scratch-path .build-fuzz --product tidegate-fuzz
fuzzer=$PWD/.build-fuzz/release/tidegate-fuzz
for part in asan.module_ctor sancov.module_ctor; do
  nm .build-fuzz/release/HTTP1.build/*.o 2>/dev/null | grep "$part" >/dev/null || fail "the parsers were built without $part: nothing would be found"
done
corpus=${TIDEGATE_CORPUS:-$PWD/.build-fuzz/corpus}
found=$PWD/.build-fuzz/found
mkdir -p "$corpus" "$found"

# Leaks are not looked for (the runtime's own one-time tables would be reported), and after a trap the backtracer may hang.
export ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no

declare -A longest
while read -r name length; do longest[$name]=$length; done < <("$fuzzer")
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$fuzzer" | cut -d ' ' -f 1)

bad=0
for target in "${targets[@]}"; do
  [ -n "${longest[$target]:-}" ] || fail "there is no fuzz target '$target'; there are: ${!longest[*]}"
  seeds=Tests/Fuzz/Seeds/$target
  mkdir -p "$corpus/$target"
  options=(
    -max_total_time="$seconds" -max_len="${longest[$target]}" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=256
    -print_final_stats=1 -verbosity=1 -artifact_prefix="$found/$target-"
  )
  [ ! -f "$seeds.dict" ] || options+=(-dict="$seeds.dict")
  say "$target, $seconds s"
  log=$found/$target.log
  if TIDEGATE_FUZZ_TARGET=$target "$fuzzer" "${options[@]}" "$corpus/$target" "$seeds" 2> "$log"; then
    grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' "$log" || true
    grep -E 'cov: [0-9]+' "$log" | tail -n 1
  else
    bad=1
    tail -n 40 "$log"
    say "$target broke a promise; the input is in $found"
  fi
done
exit $bad
