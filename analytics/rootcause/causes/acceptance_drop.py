"""Says whether drafted tokens are accepted less often than before; tells who asks from how the engine drafts."""

from __future__ import annotations

import numpy as np

from analytics.rootcause.acceptance import drafting_of
from analytics.rootcause.facts.service import acceptance, decode_pace
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, hint, judge, ramp, rose, told
from analytics.rootcause.leaves import leaves_of
from analytics.rootcause.localise import rank
from analytics.rootcause.scene import Scene
from analytics.rootcause.segment import contrasts


def weigh(scene: Scene) -> Finding:
    taken = acceptance(scene)
    if taken is None:
        return cannot_tell("spec_draft_tokens", "spec_accepted_tokens")
    segment = rejected_where(scene)
    inside = acceptance(scene, segment) if segment else taken
    pace = decode_pace(scene, segment)
    # Asked about acceptance itself, faster or slower tokens are beside the point.
    asked = scene.observations.metric == "acceptance"
    drop = ramp(taken.rise, -0.04, -0.12) or 0.0
    if inside is not None and segment and scene.recall(segment) > 0.5:
        drop = max(drop, ramp(inside.rise, -0.06, -0.2) or 0.0)
    clauses = [
        Clause("spec_accepted_tokens", drop, 2, told(inside or taken, "share of drafted tokens accepted"), gate=True),
        Clause(
            "tpot_seconds",
            hint(rose(pace, 1.05, 1.4)) if asked else rose(pace, 1.05, 1.4),
            1,
            told(pace, "an output token costs more time"),
        ),
        Clause("stage", scene.stage_share("decode", "queue", "other"), 0.5),
        *_by_position(scene),
    ]
    return judge(segment, clauses)


def _by_position(scene: Scene) -> list[Clause]:
    """Tell where in the draft acceptance fell: everywhere at once is a mismatch of models, late positions are drift."""
    drafting = drafting_of(scene)
    if drafting is None or not drafting.positions:
        return []
    worst = min(drafting.positions, key=lambda position: position.effect)
    why = f"accepted at position {worst.number} given those before; fell at {drafting.pattern}"
    share = Evidence("spec_accepted_by_position", worst.before, worst.during, why)
    return [Clause("spec_accepted_by_position", hint(ramp(worst.during - worst.before, -0.02, -0.1)), 0.3, share)]


def rejected_where(scene: Scene) -> dict[str, str]:
    """Return the segment whose rejected drafts rose most clearly beyond their mix; {} = everywhere."""
    cells = scene.observations.cells
    if "draft_tokens" not in cells or not np.nansum(cells["draft_tokens"].astype(np.float64)):
        return {}
    names = [name for name in scene.observations.dimensions if name in cells]
    table = {name: cells[name] for name in names}
    # Tokens of one request are accepted together; about fifty stand for one event.
    drafted = np.nan_to_num(cells["draft_tokens"].astype(np.float64)) / 50.0
    refused = drafted - np.nan_to_num(cells["accepted_tokens"].astype(np.float64)) / 50.0
    for phase in ("before", "during"):
        chosen = cells["phase"] == phase
        table[f"n_{phase}"] = np.where(chosen, drafted, 0.0)
        table[f"bad_{phase}"] = np.where(chosen, refused, 0.0)
    leaves = leaves_of(table, names)
    found = rank(leaves, contrasts(leaves)[0], 2.0)
    return dict(found[0].segment) if found else {}


CAUSE = Cause(
    "acceptance_drop",
    "Drafted tokens are accepted less often",
    "serving",
    ("spec_draft_tokens", "spec_accepted_tokens"),
    ("decode", "queue", "other"),
    (),
    "Break acceptance down by position, domain, version and temperature; compare draft and target versions.",
    "Match the draft to the target model, or stop drafting for the traffic that does not accept.",
    weigh,
)
