"""Tensors, and the storages that they are on."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves

# Components of a sparse tensor, by layout.
_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


# For the address of a fake tensor's storage: the storage that it stands for, and the fake storage, kept so that its
# address is not reused.
_stood_for = {}


def stand_for(fake, tensor):
    """Makes a fake tensor's storage count as that of another tensor."""
    of = untyped_storages(tensor)
    for stand_in, storage in zip(untyped_storages(fake), of):
        if stand_in is not storage:
            _stood_for[stand_in._cdata] = storage, stand_in


def forget_stand_ins():
    _stood_for.clear()


def tensors_in(value) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def without_transforms(tensor):
    """Returns the tensor that `torch.func.vmap` and similar transforms wrap during a transformed call."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def untyped_storages(tensor) -> list[torch.UntypedStorage]:
    """Returns the storages of a tensor. For a sparse tensor, or a subclass that wraps other tensors (DTensor, a
    quantised tensor), these are the storages of all components.
    """
    tensor = without_transforms(tensor)
    if is_traceable_wrapper_subclass(tensor):
        names, _ = tensor.__tensor_flatten__()
        inner = [getattr(tensor, name) for name in names]
        return [storage for one in inner if isinstance(one, torch.Tensor) for storage in untyped_storages(one)]
    if tensor.layout == torch.strided:
        storage = tensor.untyped_storage()
        return [_stood_for.get(storage._cdata, (storage, None))[0]]
    parts = _PARTS.get(tensor.layout)
    if parts is None:
        raise TypeError(f"remat: tensor layout {tensor.layout} is not supported; use torch.strided or one of {', '.join(map(str, _PARTS))}")
    with _disable_current_modes(), torch.no_grad():
        return [storage for part in parts for storage in untyped_storages(getattr(tensor, part)())]


def needing_gradient(value) -> list[torch.Tensor]:
    # If gradients are disabled, as in the forward pass of an autograd function, results propagate no gradients to these
    # tensors.
    return [tensor for tensor in tensors_in(value) if tensor.requires_grad] if torch.is_grad_enabled() else []
