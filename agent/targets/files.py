"""Finds targets in files of Prometheus' file_sd form (JSON or YAML); watches nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import yaml

from agent.config import FileDiscovery
from agent.targets.form import Found, filled
from signals.errors import InputError

#: Labels of ours may carry this prefix, so that they do not meet others.
PREFIX = "sloscope_"


@dataclass(frozen=True, slots=True)
class FileTargets:
    """Files by pattern."""

    config: FileDiscovery

    @property
    def refresh_seconds(self) -> float:
        return self.config.refresh_seconds

    def find(self) -> Sequence[Found]:
        return [
            found
            for pattern in self.config.files
            for name in sorted(glob(pattern))  # noqa: PTH207 # absolute patterns
            for found in self._read(Path(name))
        ]

    def _read(self, path: Path) -> Iterator[Found]:
        try:
            groups = yaml.safe_load(path.read_text(encoding="utf-8"))  # JSON is YAML
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from error
        if groups is None:
            return
        if not isinstance(groups, list):
            raise InputError(f"{path}: expected a list of groups with `targets` and `labels`")
        for number, group in enumerate(groups):
            if not isinstance(group, Mapping) or not isinstance(group.get("targets"), list):
                raise InputError(f"{path}: group {number + 1} has no list `targets`")
            labels = {str(key): str(value) for key, value in (group.get("labels") or {}).items()}
            texts = {key.removeprefix(PREFIX): value for key, value in labels.items()}
            scheme, page = labels.get("__scheme__", "http"), labels.get("__metrics_path__", "")
            for address in group["targets"]:
                yield Found(filled(self.config.template, f"{scheme}://{address}{page}", texts))
