"""States of chains as files without pickle: one of JSON, one of arrays."""

import json

import numpy as np

from pyrjsel.selection.samplers.base import ChainState


def write(folder, state):
    """Write a state."""
    arrays = {}

    def plain(value):
        if isinstance(value, np.ndarray):
            arrays[str(len(arrays))] = value
            return {"array": str(len(arrays) - 1)}
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    (folder / "plain.json").write_text(json.dumps(plain(state.to_plain())))
    np.savez(folder / "arrays.npz", **arrays)


def read(folder):
    """Read it back."""
    with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:

        def whole(value):
            if isinstance(value, dict):
                if "array" in value:
                    return arrays[value["array"]]
                return {name: whole(item) for name, item in value.items()}
            return [whole(item) for item in value] if isinstance(value, list) else value

        values = whole(json.loads((folder / "plain.json").read_text()))
    return ChainState(values.pop("done"), values.pop("bit_generator"), values)
