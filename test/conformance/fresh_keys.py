"""Makes each request a new one for Schemathesis, which sends the same Idempotency-Key with all of them."""

import uuid

import schemathesis

MAX_KEY_LENGTH = 255


@schemathesis.hook
def before_call(context, case, **kwargs):
    headers = case.headers or {}
    key = headers.get("Idempotency-Key")
    if isinstance(key, str) and len(key) <= MAX_KEY_LENGTH:
        headers["Idempotency-Key"] = str(uuid.uuid4())
