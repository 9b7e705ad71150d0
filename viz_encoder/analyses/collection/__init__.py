"""Collection: a set of items by every pooling, and how well each tells the groups apart."""

from viz_encoder.analyses.collection.separation import ItemPlane as ItemPlane
from viz_encoder.analyses.collection.separation import Separation as Separation
from viz_encoder.analyses.collection.separation import SeparationTable as SeparationTable
from viz_encoder.analyses.collection.separation import separation as separation
from viz_encoder.analyses.collection.vectors import Collection as Collection
from viz_encoder.analyses.collection.vectors import Neighbor as Neighbor
from viz_encoder.analyses.collection.vectors import Neighbors as Neighbors
from viz_encoder.analyses.collection.vectors import collection as collection
