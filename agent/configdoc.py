"""Writes the reference of the configuration from the settings themselves, so that it cannot grow stale."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import get_args

from agent.config import Config
from agent.configfile import Place, places

HEAD = """# Agent configuration

One YAML file, `/etc/sloscope/agent.yaml` unless `--config` or `SLOSCOPE_CONFIG` says otherwise. Everything has a
default: a file with one target and a collector is complete. Without a file at the usual place the agent looks for the
engines of this machine by itself and keeps what it sees on disk.

```yaml
collector: {url: http://collector:4320, token_file: /etc/sloscope/token}
targets:
  - {url: http://127.0.0.1:8000, pool: chat, region: eu-west}
```

- Durations: `500ms`, `5s`, `2m`, `1h`, `1d`, or seconds. Sizes: `10MB`, `1GiB`, or bytes.
- A setting outside a list can also come from the environment: `SLOSCOPE_COLLECTOR_URL` is `collector.url`.
- Secrets are files (`token_file`, `headers_file`), read again when they change.
- An unknown key is an error that offers the nearest known one; every fault of a file is reported at once.
- `sloscope-agent run --print-config` shows every value and where it came from.
- SIGHUP, or a change of the file, reads it again: a wrong file changes nothing and is reported. `agent` and `spans`
  take effect at the next start.

The list below is made from the program (`python -m agent.configdoc`).
"""


def page() -> str:
    """Return the reference as Markdown."""
    parts = [HEAD]
    for place in places(Config):
        parts.append(f"\n## {place.key}\n\n{place.setting.help}\n\n| key | default | meaning |\n|---|---|---|\n")
        parts.extend(_rows(place, place.key))
    return "".join(parts)


def _rows(place: Place, path: str) -> list[str]:
    form = _form(place)
    if form is None:
        choices = f" ({', '.join(place.setting.choices)})" if place.setting.choices else ""
        return [f"| `{path}` | {_default(place)} | {place.setting.help}{choices} |\n"]
    many = "[]" if isinstance(place.default, tuple) else ""
    if place.key == "template":
        return [f"| `{path}` | | {place.setting.help}: the keys of `targets[]` |\n"]
    return [row for inner in places(form) for row in _rows(inner, f"{path}{many}.{inner.key}")]


def _form(place: Place) -> type | None:
    kind = place.kind
    if isinstance(kind, type) and is_dataclass(kind):
        return kind
    return next((part for part in get_args(kind) if isinstance(part, type) and is_dataclass(part)), None)


def _default(place: Place) -> str:
    value = place.default
    if value is None or value == () or value == {} or value == "":
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`{value[0]}:{value[1]}`"
    if isinstance(value, float):
        return f"`{value:g}s`"
    return f"`{value}`"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 # the product of this program
