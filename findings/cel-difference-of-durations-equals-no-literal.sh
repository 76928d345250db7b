#!/usr/bin/env bash
# Expected: in CEL, the difference of two durations equals a duration of the same length, and a text without a number is no duration: Go's
#   implementation, which Kubernetes runs, counts nanoseconds and refuses the text.
# What happens: the library keeps seconds and nanoseconds apart and does not carry a sign over. A difference that ends below zero within a
#   second is smaller than no duration, as it should be, but equals neither spelling of its own length. `duration('h')` is no time at all.
# Version: @marcbachmann/cel-js 8.0.0 (npm), Node 24.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @marcbachmann/cel-js@8.0.0 >/dev/null

cat >rules.mjs <<'JS'
import { Environment } from '@marcbachmann/cel-js';

const rules = [
  "duration('1.5s') - duration('0.7s') == duration('800ms')",
  "duration('0.7s') - duration('1.5s') == duration('-800ms')",
  "duration('0.7s') - duration('1.5s') == duration('-0.8s')",
  "duration('-0.8s') == duration('-800ms')",
  "duration('0.7s') - duration('1.5s') < duration('0s')",
  "duration('h') == duration('0s')",
];
const environment = new Environment();
for (const rule of rules) console.log(`${environment.evaluate(rule, {})}  ${rule}`);
JS

seen=$(node rules.mjs)
echo "$seen"
expected=$(
  cat <<'OUT'
true  duration('1.5s') - duration('0.7s') == duration('800ms')
false  duration('0.7s') - duration('1.5s') == duration('-800ms')
false  duration('0.7s') - duration('1.5s') == duration('-0.8s')
true  duration('-0.8s') == duration('-800ms')
true  duration('0.7s') - duration('1.5s') < duration('0s')
true  duration('h') == duration('0s')
OUT
)
[ "$seen" = "$expected" ]

# Output seen:
# true  duration('1.5s') - duration('0.7s') == duration('800ms')
# false  duration('0.7s') - duration('1.5s') == duration('-800ms')
# false  duration('0.7s') - duration('1.5s') == duration('-0.8s')
# true  duration('-0.8s') == duration('-800ms')
# true  duration('0.7s') - duration('1.5s') < duration('0s')
# true  duration('h') == duration('0s')
