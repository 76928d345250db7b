"""Drives the OpenAI SDK for Python against an image and a video deployment; prints what it saw as JSON."""

import base64
import io
import json
import os
import urllib.request

import openai
from openai.types import ImagesResponse

sent = []


def note(request):
    sent.append(request.headers.get("content-type", "").partition(";")[0])


def connect(url):
    http = openai.DefaultHttpxClient(event_hooks={"request": [note]})
    return openai.OpenAI(base_url=url, api_key=os.environ["API_KEY"], max_retries=0, http_client=http)


images = connect(os.environ["IMAGE_URL"])
videos = connect(os.environ["VIDEO_URL"])
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

inline_png = {"image_url": "data:image/png;base64," + base64.b64encode(png).decode()}
referred = images.post(
    "/images/edits",
    body={"model": model, "prompt": "At night", "images": [inline_png, inline_png], "mask": inline_png, "size": "256x256"},
    cast_to=ImagesResponse,
)
with urllib.request.urlopen(referred.data[0].url) as answer:
    seen["referred"] = size(answer.read())

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

clip = {"model": os.environ["VIDEO_MODEL"], "prompt": "A ship", "seconds": "1", "size": "320x192"}
sent.clear()
text = videos.videos.create(**clip)
seen["text_encoding"] = sent[0]
seen["text_video"] = [text.object, text.seconds, text.size]
seen["text_status"] = videos.videos.poll(text.id, poll_interval_ms=200).status

sent.clear()
inline_video = videos.videos.create(**clip, extra_body={"input_reference": inline_png, "fps": 8})
seen["inline_encoding"] = sent[0]
seen["inline_video"] = [inline_video.seconds, videos.videos.poll(inline_video.id, poll_interval_ms=200).status]

same = {"extra_headers": {"Idempotency-Key": f"key-{openai.__version__}-{text.id}"}}
first = videos.videos.create(**clip, **same)
seen["repeat"] = videos.videos.create(**clip, **same).id == first.id

try:
    videos.videos.create(**clip, extra_body={"input_reference": {"file_id": "file-1"}})
except openai.BadRequestError as error:
    seen["file_id"] = "image_url" in str(error)

try:
    images.images.generate(model=model, prompt="A harbour", size="333x333")
except openai.UnprocessableEntityError as error:
    seen["size"] = error.code

print(json.dumps(seen))
