"""A message, its stream, a tool, the list of models and two errors through Anthropic's SDK; prints what was seen as JSON."""
import json
import os

import anthropic

client = anthropic.Anthropic(
    base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0
)
model = os.environ["MODEL"]
request = {"model": model, "max_tokens": 200, "messages": [{"role": "user", "content": "Tell me about ships."}]}
weather = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}

whole = client.messages.create(**request)
with client.messages.stream(**request) as stream:
    streamed = stream.get_final_message()
ask = {"role": "user", "content": "What is the weather?"}
called = client.messages.create(model=model, max_tokens=200, messages=[ask], tools=[weather])
call = next(block for block in called.content if block.type == "tool_use")
result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
answered = client.messages.create(
    model=model,
    max_tokens=200,
    messages=[ask, {"role": "assistant", "content": [call.model_dump()]}, {"role": "user", "content": [result]}],
    tools=[weather],
)


def name_error(call):
    try:
        call()
    except anthropic.APIStatusError as error:
        return [type(error).__name__, error.body["error"]["type"]]


print(
    json.dumps(
        {
            "text": whole.content[0].text,
            "streamed": streamed.content[0].text,
            "tokens": [whole.usage.output_tokens, streamed.usage.output_tokens],
            "tool": [called.stop_reason, call.name, list(call.input)],
            "answered": answered.content[0].type,
            "counted": client.messages.count_tokens(model=model, messages=[ask]).input_tokens > 0,
            "models": [entry.id for entry in client.models.list()],
            "model": client.models.retrieve(model).display_name,
            "mismatch": name_error(lambda: client.messages.create(**{**request, "model": "other"})),
            "wrong_key": name_error(lambda: client.with_options(api_key="sk-wrong").messages.create(**request)),
        }
    )
)
