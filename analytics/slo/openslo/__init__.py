"""OpenSLO v1 documents: positions, faults, schema, and what they mean as objectives."""

from analytics.slo.openslo.catalogue import Catalogue, read_documents
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.presets import PRESETS

__all__ = ["PRESETS", "Catalogue", "Fault", "read_documents"]
