#!/bin/bash
# Verifies one delivery by hand:  SIGNING_SECRET=whsec_… ./verify.sh "$SIGNATURE_HEADER" < body
# Exits with 0 if it is valid, with 1 if not. Requires openssl.
set -euo pipefail
# Two signatures while a rolled secret overlaps with the previous one: either may match.
if [[ ! ${1:-} =~ ^t=([0-9]{1,12}),v1=([0-9a-f]{64})(,v1=([0-9a-f]{64}))?$ ]]; then
  echo 'malformed header' >&2
  exit 1
fi
sent=${BASH_REMATCH[1]} first=${BASH_REMATCH[2]} second=${BASH_REMATCH[4]}
age=$(($(date +%s) - 10#$sent))
if ((age > 300 || age < -300)); then
  echo 'stale' >&2
  exit 1
fi
# For debugging a delivery; openssl takes the key as an argument, so do not use it on shared machines.
wanted=$({ printf '%s.' "$sent"; cat; } | openssl dgst -sha256 -hmac "$SIGNING_SECRET" -r | cut -d ' ' -f 1)
# Digests are compared, which prevents timing attacks.
for signature in "$first" "$second"; do
  if [[ $(printf %s "$wanted" | sha256sum) == $(printf %s "$signature" | sha256sum) ]]; then
    echo genuine
    exit 0
  fi
done
echo 'wrong signature' >&2
exit 1
