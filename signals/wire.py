"""The names that travel on the OTLP wire: resource attributes, point attributes, metric names and units.

The agent writes them, the collector reads them; nobody else spells them. Signals are `sloscope.<canonical name>`.
"""

from __future__ import annotations

PREFIX = "sloscope."
SCOPE = "sloscope.agent"
#: Bumped when a reader of the previous version would misread a batch; unknown versions are refused with 422.
SCHEMA_VERSION = "1"

# Resource attributes of every batch.
AGENT = "sloscope.agent"
EPOCH = "sloscope.epoch"
SEQUENCE = "sloscope.sequence"
SCHEMA = "sloscope.schema"
#: Unix ns of the sender's clock when it sent the batch; the receiver keeps its own clock beside it.
SENT_AT = "sloscope.sent_at"

# Resource attributes of a scrape.
SCRAPE_STATE = "sloscope.scrape_state"
SCRAPE_ERROR = "sloscope.scrape_error"
INSTANCE = "sloscope.instance"
ENGINE = "sloscope.engine"
ENGINE_VERSION = "sloscope.engine_version"
MODEL_VERSION = "sloscope.model_version"
POOL = "sloscope.pool"
REGION = "sloscope.region"
HOST = "host.name"
GPUS = "sloscope.gpus"
PROCESS_START = "sloscope.process_start"
#: JSON list of [model, role] pairs last seen on a target whose scrape failed.
LAST_GROUPS = "sloscope.last_groups"
#: Facts of the instance (kv_capacity_tokens, block_tokens, ...) travel as `sloscope.fact.<name>`.
FACT = "sloscope.fact."

# Resource attributes that a span receiver stamps.
MODEL = "sloscope.model"
ROLE = "sloscope.role"

# Point attributes of the (model, role) that a point belongs to; a signal's own attributes have plain names.
POINT_MODEL = "sloscope.model"
POINT_ROLE = "sloscope.role"
POINT_GPU = "gpu"

# The metric that a batch without any other point carries, so that failed scrapes travel too.
UP = "sloscope.up"
#: GPU and host rows: `sloscope.gpu.<column>`, `sloscope.host.<column>`; text columns are attributes of the points.
GPU = "sloscope.gpu."
HOST_ROW = "sloscope.host."
GPU_EVENT = "sloscope.gpu_event"
