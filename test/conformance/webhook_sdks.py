"""Verifies deliveries with an SDK for Python; prints as JSON which of them it took."""

import json
import sys

import openai
import standardwebhooks

verifier, secret, deliveries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])


def is_taken(delivery):
    try:
        if verifier == "openai":
            client = openai.OpenAI(api_key="none", webhook_secret=secret)
            client.webhooks.unwrap(delivery["body"], delivery["headers"])
        else:
            standardwebhooks.Webhook(secret).verify(delivery["body"], delivery["headers"])
        return True
    except (openai.InvalidWebhookSignatureError, standardwebhooks.WebhookVerificationError):
        return False


print(json.dumps([is_taken(delivery) for delivery in deliveries]))
