"""The collector's settings: defaults, YAML file, environment, flags, in this order; never a secret, never a guess.

Each value remembers where it came from (`--print-config`). Every fault is reported, not only the first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import yaml

from signals.errors import ConfigError, nearest

ENV_PREFIX = "SLOSCOPE_"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
MIB = 1024 * 1024
T = TypeVar("T")


def _setting(default: T, help_: str, low: float | None = None) -> T:
    """Return a field with its help; dataclass() replaces it by the default, hence the type."""
    return field(default=default, metadata={"help": help_, "low": low})


@dataclass(frozen=True, slots=True)
class CollectorConfig:
    """Everything `sloscope serve` can be told. Paths are text; an empty one means "none"."""

    db: str = _setting("sloscope.duckdb", "database file; created when absent")
    host: str = _setting("127.0.0.1", "address to bind; others than loopback need tokens")
    port: int = _setting(4320, "port of everything: OTLP, REST, /metrics; 0 takes a free one", 0)
    tls_cert: str = _setting("", "PEM certificate chain; turns on TLS together with tls_key")
    tls_key: str = _setting("", "PEM private key")
    tokens: str = _setting("", "file of hashed bearer tokens; re-read when it changes")
    audit_log: str = _setting("", "JSON lines of every SQL query and operate action; empty: FILE.audit.jsonl")
    objectives: str = _setting("", "folder of objective files; empty: the built-in TTFT objective")
    pools: str = _setting("", "pools.yaml; empty: one pool per model, role and region seen")
    calendar: str = _setting("", "calendar.yaml of holidays and launches that forecasts take into account")
    allowed_dirs: str = _setting("", "folders beside the database's own that it may write, e.g. for backups; : between")
    memory_limit: str = _setting("", "DuckDB's memory limit, e.g. 400MB; empty: DuckDB's default")
    threads: int = _setting(0, "DuckDB's threads; 0: one per core", 0)
    linger_seconds: float = _setting(0.1, "how long a batch waits for others before a commit", 0)
    max_body_bytes: int = _setting(16 * MIB, "largest request body as sent", 1024)
    max_decoded_bytes: int = _setting(64 * MIB, "largest request body after decompression", 1024)
    max_import_bytes: int = _setting(512 * MIB, "largest uploaded file", 1024)
    body_seconds: float = _setting(30.0, "how long a client may take to send a body", 0.1)
    max_connections: int = _setting(1_000, "connections at once; beyond them 503", 1)
    requests_per_second: float = _setting(200.0, "requests of one client per second, sustained; 0: no limit", 0)
    request_burst: int = _setting(400, "requests of one client at once", 1)
    sql_rows: int = _setting(100_000, "rows that one SQL query returns at most", 1)
    sql_seconds: float = _setting(30.0, "time of one SQL query", 0.01)
    sql_at_once: int = _setting(2, "SQL queries that run at the same time; one per client", 1)
    answer_seconds: float = _setting(60.0, "time of one answer", 0.1)
    max_tenants: int = _setting(1_000, "tenants told apart in requests; further ones are stored as other", 1)
    stale_seconds: float = _setting(120.0, "ingest older than this shows in /readyz", 1)
    jobs: bool = _setting(
        True, "run the scheduled jobs: joins, objectives, decisions, forecasts, alerts, incidents, upkeep"
    )
    alertmanager_url: str = _setting("", "Alertmanager that alerts go to, e.g. http://alertmanager:9093")
    webhooks: str = _setting("", "file of webhook URLs that alerts go to, one a line")
    dashboard_url: str = _setting("", "address of the dashboard, for links in alerts")
    keep_requests_days: int = _setting(7, "days that raw requests are kept", 1)
    keep_samples_days: int = _setting(14, "days that engine, GPU, host and other samples are kept", 1)
    keep_minute_bins_days: int = _setting(30, "days that latency bins by minute are kept", 1)
    keep_5minute_bins_days: int = _setting(180, "days that latency bins by 5 minutes are kept", 1)
    keep_hour_bins_days: int = _setting(730, "days that latency bins by hour are kept", 1)
    keep_counts_days: int = _setting(400, "days that objective counts by minute are kept", 1)
    keep_demand_days: int = _setting(84, "days that demand by 5 minutes is kept, for forecasts", 1)
    keep_ledger_days: int = _setting(
        3, "days that scrapes of remote-write and plain OTLP senders are told from retries; older ones are refused", 1
    )
    archive: str = _setting("", "folder for Parquet files of what leaves the store; the views go on showing it")

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK

    @property
    def audit_path(self) -> Path:
        return Path(self.audit_log or f"{self.db}.audit.jsonl")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration and, for each setting, where its value came from."""

    config: CollectorConfig
    sources: Mapping[str, str]

    def lines(self) -> list[str]:
        """Return `key: value  # source` lines, as `--print-config` shows them: YAML that can be used as a file."""
        values = dataclasses.asdict(self.config)
        plain = {key: yaml.safe_dump(value, default_flow_style=True).split("\n")[0] for key, value in values.items()}
        width = max(len(key) + len(text) for key, text in plain.items()) + 2
        return [f"{key + ': ' + text:<{width}}  # {self.sources[key]}" for key, text in plain.items()]


def load(
    flags: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None, path: str | Path | None = None
) -> Loaded:
    """Return the effective configuration. Flags that are None do not count. Raise ConfigError with all faults."""
    fields = {item.name: item for item in dataclasses.fields(CollectorConfig)}
    values: dict[str, object] = {}
    sources = dict.fromkeys(fields, "default")
    faults: list[str] = []

    def take(name: str, raw: object, source: str) -> None:
        if name not in fields:
            faults.append(f"{source}: unknown key {name!r}{nearest(name, fields)}")
            return
        try:
            values[name] = _typed(fields[name], raw)
            sources[name] = source
        except ValueError as error:
            faults.append(f"{source}: {name}: {error}")

    for name, raw in _from_file(path, faults).items():
        take(str(name), raw, str(path))
    for name in fields:
        variable = ENV_PREFIX + name.upper()
        if env and env.get(variable):
            take(name, env[variable], f"${variable}")
    for name, raw in (flags or {}).items():
        if raw is not None:
            take(name, raw, f"--{name.replace('_', '-')}")
    config = CollectorConfig(**values)  # type: ignore[arg-type]  # checked one by one above
    faults += _together(config)
    if faults:
        raise ConfigError("the collector's configuration has faults:", faults)
    return Loaded(config, sources)


def reference() -> Sequence[tuple[str, str, str, str]]:
    """Return (key, type, default, help) of every setting, for the documentation."""
    return [
        (item.name, str(item.type), str(item.default), str(item.metadata["help"]))
        for item in dataclasses.fields(CollectorConfig)
    ]


def _from_file(path: str | Path | None, faults: list[str]) -> Mapping[object, object]:
    if path is None:
        return {}
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        faults.append(f"{path}: {error.strerror}")
        return {}
    except yaml.YAMLError as error:
        faults.append(f"{path}: no YAML: {' '.join(str(error).split())}")
        return {}
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        faults.append(f"{path}: expected keys and values at the top, got {type(content).__name__}")
        return {}
    return content


def _typed(item: dataclasses.Field[object], raw: object) -> object:
    """Return `raw` as the field's type. Raise ValueError that says what was expected."""
    kind = str(item.type)
    if kind == "bool":
        words = {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }
        found = words.get(str(raw).lower())
        if found is None:
            raise ValueError(f"expected true or false, got {raw!r}")
        return found
    if kind == "str":
        if isinstance(raw, Mapping | list):
            raise ValueError(f"expected text, got {raw!r}")
        return "" if raw is None else str(raw)
    if isinstance(raw, bool) or raw is None:
        raise ValueError(f"expected a number, got {raw!r}")
    try:
        number = int(str(raw)) if kind == "int" else float(str(raw))
    except ValueError:
        raise ValueError(f"expected a {'whole number' if kind == 'int' else 'number'}, got {raw!r}") from None
    low = item.metadata["low"]
    if number != number or (low is not None and number < low):
        raise ValueError(f"must be at least {low:g}, got {raw}")
    return number


def _together(config: CollectorConfig) -> list[str]:
    faults = []
    if bool(config.tls_cert) != bool(config.tls_key):
        faults.append("tls_cert and tls_key: both are needed for TLS, or neither")
    if not config.is_loopback and not config.tokens:
        faults.append(f"host {config.host}: without tokens the server binds loopback only; set tokens to a token file")
    if config.max_decoded_bytes < config.max_body_bytes:
        faults.append("max_decoded_bytes: must not be below max_body_bytes")
    if not 0 <= config.port <= 65_535:
        faults.append(f"port: must be 0 to 65535, got {config.port}")
    return faults
