"""Every setting of the agent with its default and meaning; never reads a file (see `configfile`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from agent.configfile import Setting
from agent.quantities import address, duration, size

Seconds = float
Bytes = int
Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificates of one connection; every file is read again when it changes."""

    ca_file: Annotated[str | None, Setting("CA bundle to trust instead of the system's")] = None
    cert_file: Annotated[str | None, Setting("client certificate, for mutual TLS")] = None
    key_file: Annotated[str | None, Setting("key of the client certificate")] = None
    insecure_skip_verify: Annotated[bool, Setting("accept any certificate")] = False


@dataclass(frozen=True, slots=True)
class CollectorConfig:
    """Where batches go."""

    url: Annotated[str | None, Setting("base URL; /v1/metrics and /v1/traces are added; none = keep on disk")] = None
    token_file: Annotated[str | None, Setting("file with a bearer token, read again when it changes")] = None
    headers_file: Annotated[str | None, Setting("file with further headers, one `Name: value` a line")] = None
    timeout_seconds: Annotated[Seconds, Setting("limit of one delivery", key="timeout", parse=duration)] = 10.0
    linger_seconds: Annotated[
        Seconds, Setting("time that batches gather before a delivery", key="linger", parse=duration)
    ] = 1.0
    batch_bytes: Annotated[Bytes, Setting("size of one delivery before compression", parse=size)] = 1_000_000
    backoff_seconds: Annotated[
        Seconds, Setting("longest first wait after a failure", key="backoff", parse=duration)
    ] = 1.0
    backoff_max_seconds: Annotated[
        Seconds, Setting("longest wait between attempts", key="backoff_max", parse=duration)
    ] = 60.0
    tls: Annotated[Tls, Setting("certificates")] = field(default_factory=Tls)


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The daemon itself."""

    name: Annotated[str | None, Setting("name of this agent in every batch; default: the host's name")] = None
    host: Annotated[str | None, Setting("name of this machine in host and GPU rows; default: the host's name")] = None
    listen: Annotated[Address | None, Setting("own /metrics, /healthz, /readyz", parse=address)] = ("127.0.0.1", 9464)
    spool: Annotated[str, Setting("file that batches wait in until they are delivered")] = "sloscope-agent.db"
    spool_max_bytes: Annotated[Bytes, Setting("the oldest batches are dropped above this", parse=size)] = 1_000_000_000
    spool_max_age_seconds: Annotated[
        Seconds, Setting("and those older than this", key="spool_max_age", parse=duration)
    ] = 86_400.0
    stop_seconds: Annotated[
        Seconds, Setting("time for the last delivery after SIGTERM", key="stop", parse=duration)
    ] = 3.0
    memory_max_bytes: Annotated[Bytes, Setting("the agent re-executes itself above this; 0 = never", parse=size)] = (
        150_000_000
    )
    log_level: Annotated[
        str, Setting("debug, info, warning or error", choices=("debug", "info", "warning", "error"))
    ] = "info"
    watch_seconds: Annotated[
        Seconds, Setting("how often the configuration file is looked at", key="watch", parse=duration)
    ] = 5.0


@dataclass(frozen=True, slots=True)
class SpansConfig:
    """The OTLP/HTTP receiver that engines and gateways send their spans to."""

    listen: Annotated[Address | None, Setting("address of the receiver; null = none", parse=address)] = (
        "127.0.0.1",
        4318,
    )
    max_bytes: Annotated[Bytes, Setting("largest body, decompressed", parse=size)] = 16_000_000
    keep_attributes: Annotated[
        tuple[str, ...], Setting("attributes to keep although they may name a person; message text is never kept")
    ] = ()


@dataclass(frozen=True, slots=True)
class RequestLogConfig:
    """Files that an engine or gateway writes a line a request to."""

    path: Annotated[
        str, Setting("file or pattern, also gzipped: SGLang's request metrics, Dynamo's request trace; prompts stay")
    ] = ""
    engine: Annotated[str | None, Setting("sglang, dynamo or litellm; default: each line tells")] = None
    instance: Annotated[str | None, Setting("instance of lines that name none")] = None
    model: Annotated[str | None, Setting("model of lines that name none")] = None
    start: Annotated[
        str,
        Setting("where to begin in files that are there when the agent first starts", choices=("beginning", "end")),
    ] = "beginning"
    interval_seconds: Annotated[Seconds, Setting("time between looks", key="interval", parse=duration)] = 1.0
    line_bytes: Annotated[Bytes, Setting("a longer line is left out and counted", parse=size)] = 16_000_000


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """One engine or gateway page."""

    url: Annotated[
        str,
        Setting("address of the metrics page; without a path the engine's own is used, and its version is asked for"),
    ] = ""
    engine: Annotated[str | None, Setting("engine kind; default: detected")] = None
    instance: Annotated[
        str | None,
        Setting("name of the instance; default: host:port of the URL, with this machine's name for loopback"),
    ] = None
    model: Annotated[str | None, Setting("model, for engines whose page does not say")] = None
    model_version: Annotated[str | None, Setting("version of the model")] = None
    role: Annotated[str | None, Setting("prefill, decode or both", choices=("prefill", "decode", "both"))] = None
    pool: Annotated[str | None, Setting("pool that scales as one")] = None
    region: Annotated[str | None, Setting("region")] = None
    host: Annotated[str | None, Setting("machine it runs on; default: this one if the URL is local")] = None
    gpus: Annotated[tuple[str, ...], Setting("UUIDs of its GPUs; default: found by process")] = ()
    span_services: Annotated[
        tuple[str, ...], Setting("service.name or service.instance.id in its spans; default: the instance's name")
    ] = ()
    interval_seconds: Annotated[Seconds, Setting("time between scrapes", key="interval", parse=duration)] = 5.0
    timeout_seconds: Annotated[
        Seconds | None,
        Setting("limit of one scrape; default: the interval, at most 10 s", key="timeout", parse=duration),
    ] = None
    token_file: Annotated[str | None, Setting("file with a bearer token for the page")] = None
    headers_file: Annotated[str | None, Setting("file with further headers, one `Name: value` a line")] = None
    allow_destructive: Annotated[bool, Setting("fetch a path even if reading it takes data away from others")] = False
    config: Annotated[Mapping[str, str], Setting("facts of the instance for its `instances` row")] = field(
        default_factory=dict
    )
    tls: Annotated[Tls, Setting("certificates")] = field(default_factory=Tls)

    def limit_seconds(self) -> float:
        """Return the limit of one scrape."""
        return self.timeout_seconds or max(0.1, min(self.interval_seconds, 10.0))


@dataclass(frozen=True, slots=True)
class FileDiscovery:
    """Targets from files in Prometheus' file_sd form."""

    files: Annotated[tuple[str, ...], Setting("paths or patterns of .json and .yaml files")] = ()
    refresh_seconds: Annotated[Seconds, Setting("how often they are looked at", key="refresh", parse=duration)] = 5.0
    template: Annotated[TargetConfig, Setting("settings of every target found")] = field(default_factory=TargetConfig)


@dataclass(frozen=True, slots=True)
class KubernetesDiscovery:
    """Pods of this node that carry the annotation `sloscope.io/scrape: "true"`."""

    enabled: Annotated[bool, Setting("ask the API server for the pods of this node")] = False
    api: Annotated[str | None, Setting("address of the API server; default: from the pod's environment")] = None
    token_file: Annotated[str, Setting("service account token")] = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  # a path
    ca_file: Annotated[str, Setting("CA of the API server")] = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
    namespaces: Annotated[tuple[str, ...], Setting("only these; none = all that the account may read")] = ()
    node: Annotated[str | None, Setting("only pods of this node; default: the variable NODE_NAME")] = None
    selector: Annotated[str | None, Setting("label selector of the pods")] = None
    refresh_seconds: Annotated[Seconds, Setting("time between questions", key="refresh", parse=duration)] = 15.0
    pool_label: Annotated[str, Setting("pod label that names the pool")] = "app.kubernetes.io/name"
    version_label: Annotated[str, Setting("pod label that names the model version")] = "app.kubernetes.io/version"
    template: Annotated[TargetConfig, Setting("settings of every target found")] = field(default_factory=TargetConfig)


@dataclass(frozen=True, slots=True)
class ProcessDiscovery:
    """Engines found among the processes of this machine."""

    enabled: Annotated[bool, Setting("look for engine processes and the ports they listen on")] = False
    refresh_seconds: Annotated[Seconds, Setting("time between looks", key="refresh", parse=duration)] = 30.0
    template: Annotated[TargetConfig, Setting("settings of every target found")] = field(default_factory=TargetConfig)


@dataclass(frozen=True, slots=True)
class DiscoveryConfig:
    """Where targets come from besides `targets`."""

    file: Annotated[FileDiscovery, Setting("files")] = field(default_factory=FileDiscovery)
    kubernetes: Annotated[KubernetesDiscovery, Setting("pods")] = field(default_factory=KubernetesDiscovery)
    processes: Annotated[ProcessDiscovery, Setting("processes")] = field(default_factory=ProcessDiscovery)


@dataclass(frozen=True, slots=True)
class GpuConfig:
    """NVIDIA GPUs through NVML."""

    enabled: Annotated[str, Setting("auto = where the driver answers", choices=("auto", "yes", "no"))] = "auto"
    gpm: Annotated[bool, Setting("read SM, tensor and DRAM counters (Hopper and later)")] = True
    tick_seconds: Annotated[Seconds, Setting("time between ticks of one GPU", key="tick", parse=duration)] = 1.0
    row_seconds: Annotated[Seconds, Setting("time that one row sums up", key="row", parse=duration)] = 5.0
    hung_seconds: Annotated[Seconds, Setting("a GPU silent for this long is hung", key="hung", parse=duration)] = 5.0
    retry_seconds: Annotated[Seconds, Setting("time between looks for lost GPUs", key="retry", parse=duration)] = 60.0
    pod_resources: Annotated[str, Setting("kubelet's socket that says which pod owns which GPU")] = (
        "/var/lib/kubelet/pod-resources/kubelet.sock"
    )


@dataclass(frozen=True, slots=True)
class HostConfig:
    """CPU, pressure, network and disks of this machine."""

    enabled: Annotated[bool, Setting("read /proc and /sys")] = True
    interval_seconds: Annotated[Seconds, Setting("time between rows", key="interval", parse=duration)] = 5.0
    root: Annotated[str, Setting("where the machine's / is mounted")] = "/"


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """What one target may cost; above a limit the whole scrape is refused and counted."""

    body_bytes: Annotated[Bytes, Setting("size of a page, decompressed", parse=size)] = 10_000_000
    series: Annotated[int, Setting("series on a page")] = 20_000
    tenants: Annotated[int, Setting("distinct tenants of one target; the rest become `other`")] = 200


@dataclass(frozen=True, slots=True)
class OtlpOutput:
    """Another OTLP backend; it gets cumulative sums and histograms."""

    url: Annotated[str, Setting("URL that metrics are posted to, with its path")] = ""
    interval_seconds: Annotated[Seconds, Setting("time between exports", key="interval", parse=duration)] = 15.0
    headers_file: Annotated[str | None, Setting("file with headers, one `Name: value` a line")] = None
    tls: Annotated[Tls, Setting("certificates")] = field(default_factory=Tls)


@dataclass(frozen=True, slots=True)
class OutputsConfig:
    """Receivers besides the collector."""

    otlp: Annotated[tuple[OtlpOutput, ...], Setting("OTLP backends")] = ()
    prometheus: Annotated[bool, Setting("serve the canonical signals as a page at /signals")] = True


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration file."""

    collector: Annotated[CollectorConfig, Setting("where batches go")] = field(default_factory=CollectorConfig)
    agent: Annotated[AgentConfig, Setting("the daemon")] = field(default_factory=AgentConfig)
    spans: Annotated[SpansConfig, Setting("span receiver")] = field(default_factory=SpansConfig)
    requests: Annotated[tuple[RequestLogConfig, ...], Setting("request logs to follow")] = ()
    targets: Annotated[tuple[TargetConfig, ...], Setting("pages to scrape")] = ()
    discovery: Annotated[DiscoveryConfig, Setting("further targets")] = field(default_factory=DiscoveryConfig)
    gpu: Annotated[GpuConfig, Setting("GPUs")] = field(default_factory=GpuConfig)
    host: Annotated[HostConfig, Setting("this machine")] = field(default_factory=HostConfig)
    limits: Annotated[LimitsConfig, Setting("limits")] = field(default_factory=LimitsConfig)
    outputs: Annotated[OutputsConfig, Setting("further receivers")] = field(default_factory=OutputsConfig)
