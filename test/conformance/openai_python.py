"""Drives the OpenAI SDK for Python against a chat and an embedding deployment; prints what it saw as JSON."""

import json
import os

import openai

chat = openai.OpenAI(base_url=os.environ["CHAT_URL"], api_key=os.environ["API_KEY"], max_retries=0)
embed = openai.OpenAI(base_url=os.environ["EMBED_URL"], api_key=os.environ["API_KEY"], max_retries=0)
messages = [{"role": "user", "content": "Tell me about ships."}]
seen = {}

answer = chat.chat.completions.create(model=os.environ["CHAT_MODEL"], messages=messages, seed=3)
seen["text"] = answer.choices[0].message.content
seen["total_tokens"] = answer.usage.total_tokens

stream = chat.chat.completions.create(
    model=os.environ["CHAT_MODEL"], messages=messages, seed=3, stream=True, stream_options={"include_usage": True}
)
seen["streamed"] = ""
for chunk in stream:
    for choice in chunk.choices:
        seen["streamed"] += choice.delta.content or ""
    if chunk.usage:
        seen["stream_tokens"] = chunk.usage.total_tokens

vectors = embed.embeddings.create(model=os.environ["EMBED_MODEL"], input=["a ship", "a berth"])
seen["vectors"] = [len(item.embedding) for item in vectors.data]
seen["models"] = [model.id for model in chat.models.list()]

try:
    chat.chat.completions.create(model="gpt-4", messages=messages)
except openai.BadRequestError as error:
    seen["mismatch"] = error.code
try:
    openai.OpenAI(base_url=os.environ["CHAT_URL"], api_key="sk-wrong", max_retries=0).models.list()
except openai.AuthenticationError as error:
    seen["wrong_key"] = error.code

print(json.dumps(seen))
