"""Verifies deliveries with an SDK for Python; prints as JSON which of them it took."""

import json
import sys

import anthropic
import openai
import standardwebhooks
import svix.webhooks

verifier, secret, deliveries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])


def is_taken(delivery):
    try:
        if verifier == "openai":
            client = openai.OpenAI(api_key="none", webhook_secret=secret)
            client.webhooks.unwrap(delivery["body"], delivery["headers"])
        elif verifier == "anthropic":
            client = anthropic.Anthropic(api_key="none", webhook_key=secret)
            client.beta.webhooks.unwrap(delivery["body"], headers=delivery["headers"])
        elif verifier == "svix":
            svix.webhooks.Webhook(secret).verify(delivery["body"], delivery["headers"])
        else:
            standardwebhooks.Webhook(secret).verify(delivery["body"], delivery["headers"])
        return True
    except (
        openai.InvalidWebhookSignatureError,
        standardwebhooks.WebhookVerificationError,
        svix.webhooks.WebhookVerificationError,
    ):
        return False


print(json.dumps([is_taken(delivery) for delivery in deliveries]))
