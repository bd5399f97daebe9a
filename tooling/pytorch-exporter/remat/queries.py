"""Ops that neither recordings nor policies count."""

# These ops are dispatched, but neither compute nor allocate: queries about a tensor, and autograd's own detach.
QUERIES = {
    "aten.detach", "aten.dim", "aten.is_contiguous", "aten.is_non_overlapping_and_dense", "aten.is_strides_like_format", "aten.numel",
    "aten.size", "aten.storage_offset", "aten.stride", "aten.sym_numel", "aten.sym_size", "aten.sym_storage_offset", "aten.sym_stride", "prim.device",
    "prim.layout",
}  # fmt: skip
