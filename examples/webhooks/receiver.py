# A receiver for Berth's webhooks in Python, without dependencies:  SIGNING_SECRET=whsec_… python3 receiver.py
import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OLDEST_SECONDS = 300


def verify(header: str | None, body: bytes, secret: str) -> bool:
    """`body`: the raw bytes, not what a JSON parser made of them."""
    # Two signatures while a rolled secret overlaps with the previous one: either may match.
    match = re.fullmatch(r"t=(\d{1,12})((?:,v1=[0-9a-f]{64}){1,2})", header or "", re.ASCII)
    if not match:
        return False
    sent, signatures = match.groups()
    if abs(time.time() - int(sent)) > OLDEST_SECONDS:
        return False
    wanted = hmac.new(secret.encode(), f"{sent}.".encode() + body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(wanted, each) for each in signatures.split(",v1=")[1:])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        verified = verify(self.headers.get("x-service-signature"), body, os.environ["SIGNING_SECRET"])
        self.send_response(204 if verified else 401)
        self.end_headers()
        if verified:
            # Process events asynchronously: attempts time out after 5 seconds. Use the event's id to detect duplicates.
            event = json.loads(body)
            line = " ".join([event["type"], event["id"], event.get("data", {}).get("id", "")])
            # A single write, since requests are handled by threads.
            print(line + "\n", end="", flush=True)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
