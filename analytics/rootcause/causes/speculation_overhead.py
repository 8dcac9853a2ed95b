"""Says whether speculative decoding costs more than it saves at the present batch; never a drop of acceptance."""

from __future__ import annotations

from analytics.rootcause.facts.service import acceptance, decode_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, judge, ramp, rose, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    taken = acceptance(scene)
    if taken is None:
        return cannot_tell("spec_draft_tokens", "spec_accepted_tokens")
    pace = decode_pace(scene)
    step = scene.engine.quotient("step_seconds_per_step", "step_seconds", "steps")
    drafts = scene.engine.quotient("drafts_per_output_token", "spec_draft_tokens", "generation_tokens")
    if drafts is None:
        drafts = scene.requests.quotient("drafts_per_output_token", "draft_tokens", "output_tokens")
    batch = scene.engine.shift("running")
    clauses = [
        Clause("tpot_seconds", rose(pace, 1.1, 1.5), 2, told(pace, "an output token costs more time"), gate=True),
        Clause("spec_accepted_tokens", ramp(taken.rise, -0.12, -0.03), 1, told(taken, "acceptance stands"), gate=True),
        Clause(
            "running",
            max(rose(batch, 1.1, 1.6) or 0.0, rose(drafts, 1.15, 1.8) or 0.0),
            2,
            told(batch, "the batch is larger: verifying drafts is no longer free"),
            gate=True,
        ),
        Clause("spec_draft_tokens", rose(drafts, 1.05, 1.5), 1, told(drafts, "drafts per output token")),
        Clause("step_seconds", rose(step, 1.1, 1.5), 1, told(step, "each engine step takes longer")),
        Clause("stage", scene.stage_share("decode", "queue"), 0.5),
    ]
    return judge(scene.along("instance", "model_version") or {}, clauses)


CAUSE = Cause(
    "speculation_overhead",
    "Speculative decoding costs more than it saves at this batch size",
    "serving",
    ("spec_draft_tokens",),
    ("decode", "queue"),
    ("acceptance_drop", "traffic_spike", "noisy_neighbour", "gpu_throttle", "gpu_fault", "grammar_cpu", "long_requests",
     "fewer_instances", "preemption", "output_tail"),
    "Compare step time and tokens per step with speculation on and off at this batch.",
    "Fewer drafts, or none, above the break-even batch size.",
    weigh,
)  # fmt: skip
