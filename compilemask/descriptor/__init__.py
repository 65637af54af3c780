"""The descriptor of a mask: what the compiler makes and everything else reads."""

from compilemask.descriptor.mask_batch import MaskBatch
from compilemask.descriptor.mask_descriptor import MAX_DENSE_CELLS, MAX_LENGTH, MAX_ROW_INTERVALS, MaskDescriptor

__all__ = ["MAX_DENSE_CELLS", "MAX_LENGTH", "MAX_ROW_INTERVALS", "MaskBatch", "MaskDescriptor"]
