"""Ops that other libraries expect."""

import torch

_library = []


def define_missing_torchvision_ops():
    """torchvision of a registry may lack the ops that it has in C++, where PyTorch is another build."""
    if _library:
        return
    _library.append(torch.library.Library("torchvision", "FRAGMENT"))
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            _library[0].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
