#!/bin/bash
# Verifies one delivery by hand:  SIGNING_SECRET=whsec_… ./verify.sh "$SIGNATURE_HEADER" < body
# Ends with 0 if it is genuine, with 1 if not. Needs openssl.
set -euo pipefail
# Two signatures while a rolled secret overlaps with the one before: either may fit.
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
# A tool for looking at one delivery; openssl takes the key as an argument, so keep it off shared machines.
wanted=$({ printf '%s.' "$sent"; cat; } | openssl dgst -sha256 -hmac "$SIGNING_SECRET" -r | cut -d ' ' -f 1)
# Digests of both are compared, so the time that it takes tells nothing.
for signature in "$first" "$second"; do
  if [[ $(printf %s "$wanted" | sha256sum) == $(printf %s "$signature" | sha256sum) ]]; then
    echo genuine
    exit 0
  fi
done
echo 'wrong signature' >&2
exit 1
