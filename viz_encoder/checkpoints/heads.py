"""Heads that many families of text models build alike; only their tensors' names differ."""

from viz_encoder.checkpoints.family import CarriedHead, Json
from viz_encoder.checkpoints.settings import classes
from viz_encoder.checkpoints.tables import DENSE_CLASSES, LM_HEAD, POOLER, POOLER_CLASSES
from viz_encoder.config import Activation, HeadConfig, HeadPool, Task


def masked(file: Json, width: int, activation: Activation) -> HeadConfig:
    """BERT's masked-token head: dense of this width, activation, norm, a score for each word."""
    return HeadConfig(
        task=Task.MASKED, d_dense=width, activation=activation, norm=True, n_out=file["vocab_size"]
    )


def first_token_classes(file: Json, width: int, activation: Activation) -> HeadConfig:
    """Classifier on the first token through a dense layer."""
    return classes(
        file, task=Task.CLASSIFY, pool=HeadPool.CLS, d_dense=width, activation=activation
    )


def pooler_classes(file: Json) -> HeadConfig:
    """Classifier on BERT's pooler output."""
    return first_token_classes(file, file["hidden_size"], Activation.TANH)


def pooler(file: Json) -> HeadConfig:
    """BERT's pooler: the first token through a dense layer and tanh."""
    width = file["hidden_size"]
    return HeadConfig(Task.POOL, HeadPool.CLS, d_dense=width, activation=Activation.TANH)


MASKED_GELU = CarriedHead(lambda file: masked(file, file["hidden_size"], Activation.GELU), LM_HEAD)
BERT_POOLER = CarriedHead(pooler, POOLER)
BERT_CLASSES = CarriedHead(pooler_classes, POOLER_CLASSES, only_for="ForSequenceClassification")
ROBERTA_CLASSES = CarriedHead(pooler_classes, DENSE_CLASSES)
TOKEN_LABELS = CarriedHead(
    lambda file: classes(file, task=Task.TOKENS),
    "classifier.*    heads.tokens.out.*",
    only_for="ForTokenClassification",
)
