"""The checks in the order in which they are asked; one file each."""

from viz_encoder.audit.audit_context import Question
from viz_encoder.audit.checks import (
    batch_independence,
    cache,
    constants,
    documents,
    dtype,
    empty_sample,
    eval_mode,
    grad_mode,
    gradient,
    implementations,
    left_padding,
    lengths,
    maps,
    mask_used,
    output_pooling,
    padding_invariance,
    permutation,
    perturbation,
    poisoned_padding,
    row_sums,
    runs,
    static,
    train_mode,
)

QUESTIONS: tuple[Question, ...] = tuple(
    one.QUESTION
    for one in (
        *(
            static,
            runs,
            eval_mode,
            batch_independence,
            constants,
            maps,
            row_sums,
            gradient,
            perturbation,
        ),
        *(padding_invariance, output_pooling, permutation, grad_mode, mask_used),
        *(empty_sample, poisoned_padding, left_padding, lengths, documents, implementations),
        *(cache, dtype, train_mode),
    )
)
