"""Heads over a corpus: sums that merge, the table they become, and who makes them."""

from viz_encoder.corpora.corpus import corpus as corpus
from viz_encoder.corpora.corpus import treebank_table as treebank_table
from viz_encoder.corpora.engine import Done as Done
from viz_encoder.corpora.engine import HeadWorker as HeadWorker
from viz_encoder.corpora.examples import Example as Example
from viz_encoder.corpora.examples import Examples as Examples
from viz_encoder.corpora.head_sums import HeadSums as HeadSums
from viz_encoder.corpora.head_table import About as About
from viz_encoder.corpora.head_table import Failure as Failure
from viz_encoder.corpora.head_table import HeadTable as HeadTable
from viz_encoder.corpora.relations import Relations as Relations
from viz_encoder.corpora.relations import relations as relations
from viz_encoder.corpora.spread import Spread as Spread
from viz_encoder.corpora.spread import VectorSpread as VectorSpread
from viz_encoder.corpora.treebank import TreeSentence as TreeSentence
from viz_encoder.corpora.treebank import read_treebank as read_treebank
from viz_encoder.corpora.vector_rows import VectorRows as VectorRows
