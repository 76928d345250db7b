"""Drives the OpenAI SDK for Python against an image and a video deployment; prints what it saw as JSON."""

import base64
import io
import json
import os
import urllib.request

import openai

images = openai.OpenAI(base_url=os.environ["IMAGE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
videos = openai.OpenAI(base_url=os.environ["VIDEO_URL"], api_key=os.environ["API_KEY"], max_retries=0)
model = os.environ["IMAGE_MODEL"]
seen = {}


def size(png):
    """Width and height stand at fixed places of a PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", png[:8]
    return f"{int.from_bytes(png[16:20], 'big')}x{int.from_bytes(png[20:24], 'big')}"


linked = images.images.generate(model=model, prompt="A harbour", size="256x256")
with urllib.request.urlopen(linked.data[0].url) as answer:
    png = answer.read()
seen["linked"] = size(png)

inline = images.images.generate(
    model=model, prompt="A harbour", n=2, size="256x256", response_format="b64_json", extra_body={"seed": 3}
)
seen["inline"] = [size(base64.b64decode(item.b64_json)) for item in inline.data]

edited = images.images.edit(
    model=model, prompt="At night", image=("in.png", io.BytesIO(png), "image/png"), size="256x256"
)
with urllib.request.urlopen(edited.data[0].url) as answer:
    seen["edited"] = size(answer.read())

seen["events"] = [
    event.type for event in images.images.generate(model=model, prompt="A harbour", size="256x256", stream=True)
]

queued = images.post(
    "/images/generations",
    body={"model": model, "prompt": "A harbour", "size": "256x256"},
    options={"params": {"async": "true"}},
    cast_to=object,
)
seen["queued"] = queued["status"]

video = videos.videos.create_and_poll(
    model=os.environ["VIDEO_MODEL"],
    prompt="A ship",
    seconds="1",
    size="320x192",
    input_reference=("ship.png", io.BytesIO(png), "image/png"),
    poll_interval_ms=200,
)
seen["video"] = video.status
content = videos.videos.download_content(video.id)
content.write_to_file(os.environ["VIDEO_FILE"])
videos.videos.delete(video.id)

try:
    images.images.generate(model=model, prompt="A harbour", size="333x333")
except openai.UnprocessableEntityError as error:
    seen["size"] = error.code

print(json.dumps(seen))
