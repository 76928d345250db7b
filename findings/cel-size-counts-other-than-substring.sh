#!/usr/bin/env bash
# Expected: a text is its own beginning of its own size, as in Kubernetes, whose rules count characters in size(), substring() and
#   indexOf(): `self.substring(0, self.size()) == self` holds for every text, and indexOf() of its last letter is below its size.
# What happens: two CEL libraries of npm, which share no code, count characters in size() and units of UTF-16 in substring() and
#   indexOf(). A text with an emoji loses its end, and a rule refuses it that a cluster accepts. Nothing is raised.
# Versions: @marcbachmann/cel-js 8.0.0, @bufbuild/cel 0.6.1, Node 24.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-fund --no-audit @marcbachmann/cel-js@8.0.0 @bufbuild/cel@0.6.1 node@24 >/dev/null

cat >run.mjs <<'JS'
import { celEnv, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { evaluate } from '@marcbachmann/cel-js';

const env = celEnv({ funcs: strings });
for (const text of ['ship', 'ship 🚢']) {
  for (const rule of ['self.substring(0, self.size()) == self', "(self + '!').indexOf('!') < (self + '!').size()"]) {
    const answers = [evaluate(rule, { self: text }), plan(env, parse(rule))({ self: text })];
    console.log(`${text} | ${rule} | ${answers.join(', ')}`);
  }
}
JS
node_modules/.bin/node run.mjs | tee seen

diff seen - <<'SEEN'
ship | self.substring(0, self.size()) == self | true, true
ship | (self + '!').indexOf('!') < (self + '!').size() | true, true
ship 🚢 | self.substring(0, self.size()) == self | false, false
ship 🚢 | (self + '!').indexOf('!') < (self + '!').size() | false, false
SEEN
