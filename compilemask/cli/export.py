"""`compilemask export`."""

from __future__ import annotations

import argparse

from compilemask.cli.masks import InvalidMaskError, bound_mask, print_messages, write_text
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import MaskError
from compilemask.export import numpy_source, python_source
from compilemask.mask_arguments import UsageError


def export(options: argparse.Namespace) -> int:
    """Prints or writes a module that rebuilds the mask, or all masks of a batch."""
    program, analysis, lowered = bound_mask(options)
    if analysis.failed:
        raise InvalidMaskError
    mask: MaskDescriptor | MaskBatch = lowered.descriptor
    try:
        if program.is_batch:
            mask = program.bind(**analysis.values)
        match options.to:
            case "numpy":
                if isinstance(mask, MaskBatch) and len(mask.masks) > 1:
                    raise UsageError("a NumPy module holds one mask, and these values give several; give single values")
                text = numpy_source(mask.masks[0] if isinstance(mask, MaskBatch) else mask)
            case _:
                text = python_source(program.name, program.source, analysis.values, mask)
    except MaskError as error:
        print_messages(error.diagnostics, program.source, program.filename)
        raise InvalidMaskError from None
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    if options.output is None:
        print(text, end="")
        return 0
    write_text(options.output, text)
    print(f"wrote {options.output}: {mask.q_len:,} x {mask.kv_len:,}, {mask.visible_pairs:,} visible pairs")
    return 0
