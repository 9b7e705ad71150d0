"""Loads model folders into encoders that read texts or images."""

from viz_encoder.checkpoints.builtin import BUILTIN as BUILTIN
from viz_encoder.checkpoints.families import known_families as known_families
from viz_encoder.checkpoints.hub import cached_names as cached_names
from viz_encoder.checkpoints.hub import fetch as fetch
from viz_encoder.checkpoints.hub import patient as patient
from viz_encoder.checkpoints.hub_faults import is_hub_id as is_hub_id
from viz_encoder.checkpoints.hub_lookup import HubModel as HubModel
from viz_encoder.checkpoints.hub_lookup import look_up as look_up
from viz_encoder.checkpoints.load import choose_device as choose_device
from viz_encoder.checkpoints.load import fill as fill
from viz_encoder.checkpoints.load import load as load
from viz_encoder.checkpoints.loaded import LoadedEncoder as LoadedEncoder
from viz_encoder.checkpoints.loaded import ModelCard as ModelCard
from viz_encoder.checkpoints.loaded import as_loaded as as_loaded
from viz_encoder.checkpoints.plan import Plan as Plan
from viz_encoder.checkpoints.plan import plan as plan
from viz_encoder.checkpoints.plan import plan_cached as plan_cached
from viz_encoder.checkpoints.plan import require_part as require_part
from viz_encoder.checkpoints.recognize import names_a_head as names_a_head
from viz_encoder.checkpoints.weights import silent as silent
