"""Verifies deliveries with each SDK for Python; prints as JSON which of them it took."""

import json
import sys

import anthropic
import openai
import standardwebhooks
import svix.webhooks

secret, deliveries = sys.argv[1], json.loads(sys.argv[2])


def is_taken(verifier, delivery):
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


verifiers = ["openai", "standardwebhooks", "svix", "anthropic"]
print(json.dumps({name: [is_taken(name, delivery) for delivery in deliveries] for name in verifiers}))
