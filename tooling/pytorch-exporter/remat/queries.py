"""Ops that no recording counts, and so no policy."""

# Dispatched, but they neither compute nor allocate: what they are asked of a tensor, and autograd's own handing on of one.
QUERIES = {
    "aten.detach", "aten.dim", "aten.is_contiguous", "aten.is_non_overlapping_and_dense", "aten.is_strides_like_format", "aten.numel",
    "aten.size", "aten.storage_offset", "aten.stride", "aten.sym_numel", "aten.sym_size", "aten.sym_storage_offset", "aten.sym_stride", "prim.device",
    "prim.layout",
}  # fmt: skip
