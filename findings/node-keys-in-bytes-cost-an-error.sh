#!/usr/bin/env bash
# Node 24.21.0: createHmac, createCipheriv and createDecipheriv with a key in bytes (a Buffer), as programs sign webhooks and seal texts.
# One would expect: it costs what the same key costs as a string or as a KeyObject, as it did in Node 20.20.2. 1 KB is signed in 5 µs, and
#   a Buffer is what the documentation's examples for keys use.
# What happens: three to nine times as much, and most of it before any byte is signed. To learn whether the key is a KeyObject, Node 24 reads
#   private slots of it, which throws for all other objects; the error is caught, with its stack. Strings are told apart before that.
#   createSecretKey(bytes) for each call takes less than half of it, one that is kept takes none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > keys.mjs <<'JS'
import { createCipheriv, createHmac, createSecretKey } from 'node:crypto';
const bytes = Buffer.alloc(32, 7);
const [kept, text, body, nonce] = [createSecretKey(bytes), bytes.toString('latin1'), 'x'.repeat(1_024), Buffer.alloc(12)];
const sign = (key) => createHmac('sha256', key).update(body).digest('hex');
const seal = (key) => createCipheriv('aes-256-gcm', key, nonce).update(body);
const calls = {
  'sign, kept KeyObject': () => sign(kept),
  'sign, string': () => sign(text),
  'sign, bytes': () => sign(bytes),
  'sign, new KeyObject': () => sign(createSecretKey(bytes)),
  'seal, kept KeyObject': () => seal(kept),
  'seal, bytes': () => seal(bytes),
};
const times = Object.fromEntries(Object.keys(calls).map((name) => [name, []]));
// They take turns, since machines drift; the first turns are for the compiler.
for (let turn = 0; turn < 12; turn++)
  for (const [name, call] of Object.entries(calls)) {
    const begin = performance.now();
    for (let count = 0; count < 3_000; count++) call();
    if (turn > 3) times[name].push((performance.now() - begin) / 3);
  }
const median = (name) => times[name].sort((a, b) => a - b)[4];
const tell = (name, than) => `${name}: ${median(name) > 2 * median(than) ? 'over twice' : 'about'} ${than}`;
console.log(process.version);
console.log(tell('sign, string', 'sign, kept KeyObject'));
console.log(tell('sign, bytes', 'sign, kept KeyObject'));
console.log(tell('sign, bytes', 'sign, new KeyObject'));
console.log(tell('seal, bytes', 'seal, kept KeyObject'));
JS
for version in 20.20.2 24.21.0; do
  mkdir "node-$version"
  (cd "node-$version" && echo '{"private":true}' > package.json && npm install --silent --no-audit --no-fund "node@$version")
  "node-$version/node_modules/.bin/node" keys.mjs
done | tee output
diff output - <<'OUTPUT'
v20.20.2
sign, string: about sign, kept KeyObject
sign, bytes: about sign, kept KeyObject
sign, bytes: about sign, new KeyObject
seal, bytes: about seal, kept KeyObject
v24.21.0
sign, string: about sign, kept KeyObject
sign, bytes: over twice sign, kept KeyObject
sign, bytes: over twice sign, new KeyObject
seal, bytes: over twice seal, kept KeyObject
OUTPUT
