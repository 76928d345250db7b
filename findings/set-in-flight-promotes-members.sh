#!/usr/bin/env bash
# Node 24.21.0 (V8 13.6): a Set of what is in flight, as servers keep of their requests: each task is added, and deleted once 63 others have begun.
# One would expect: a quick collection (scavenge) frees what was deleted; none is promoted to the old space, since each lives for less than
#   two of them.
# What happens: a Set replaces its table whenever the places of deleted members are used up, and the old table points to the next one. Once
#   one table is in the old space, each quick collection takes it for alive, though it is not, and keeps the next table and the tasks that it
#   names, which come into the old space as well. Nearly all tasks stay until a full collection, of which there are several. In an
#   array whose last member takes the place of a deleted one, nothing stays.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0
cat > tasks.mjs <<'JS'
const isSet = process.argv[2] === 'set';
const [set, list] = [new Set(), []];
const add = isSet ? (task) => set.add(task) : (task) => { task.place = list.length; list.push(task); };
const remove = isSet ? (task) => set.delete(task) : (task) => {
  const last = list.pop();
  if (last !== task) { list[task.place] = last; last.place = task.place; }
};
const ring = Array(64).fill(null);
for (let number = 0; number < 30_000; number++) {
  const at = number % ring.length;
  if (ring[at]) remove(ring[at]);
  // What handling it needs for a moment, and what it holds: 5 KB.
  const brief = [];
  for (let index = 0; index < 1_200; index++) brief.push({ index, number });
  const task = { place: 0, held: Array.from({ length: 100 }, (_, index) => ({ index, number })) };
  ring[at] = task;
  add(task);
}
JS
# What each scavenge left more than the collection before it, by `--trace-gc`.
measure() {
  ./node_modules/.bin/node --trace-gc --max-semi-space-size=8 tasks.mjs "$1" | awk -v kind="$1" '
    /Scavenge|Mark-Compact/ {
      match($0, /-> [0-9.]+/); after = substr($0, RSTART + 3, RLENGTH - 3)
      if ($0 ~ /Scavenge/) { if (before != "") promoted += after - before } else full++
      before = after
    }
    END { printf "%s: %.1f KB promoted per task, %d full collections\n", kind, promoted * 1024 / 30000, full }'
}
measure set | tee set.out
measure list | tee list.out
set=$(grep -o '[0-9.]* KB' set.out | cut -d' ' -f1)
list=$(grep -o '[0-9.]* KB' list.out | cut -d' ' -f1)
awk -v set="$set" -v list="$list" 'BEGIN { exit !(set > 1.5 && list < 0.5) }'
# Seen:
# set: 4.7 KB promoted per task, 5 full collections
# list: 0.1 KB promoted per task, 0 full collections
