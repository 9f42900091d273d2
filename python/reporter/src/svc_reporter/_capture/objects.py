"""3D objects and molecules: kept as files of the run, because the page does not draw them."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._shared.plain import plain, text_of
from .media import Media, Taken

FOLDER = "objects"
"""Where they are among the files of a run: `objects/<name>/<step>.glb`."""
_MAX_BYTES = 512 * 1024 * 1024


class Stored(NamedTuple):
    content: bytes | Path
    suffix: str


class StoredObject(Media):
    """Base of the values that become files of the run. Raises ValueError for a format that it does not know."""

    kind = "file"
    FORMATS: tuple[str, ...] = ()

    def __init__(self, data_or_path: Any, caption: object = None, file_type: str | None = None, **_more: Any) -> None:
        self.data = data_or_path
        self.caption = None if caption is None else text_of(caption)[:1_000]
        self.file_type = file_type
        self.stored = self._stored_form()

    def taken(self) -> Taken:
        raise TypeError(f"{type(self).__name__} is a file of the run, not a medium")

    def _stored_form(self) -> Stored:
        value = self.data
        if isinstance(value, (str, os.PathLike)):
            path = Path(value)
            suffix = self._suffix_of(path.name)
            if path.stat().st_size > _MAX_BYTES:
                raise ValueError(f"{path} has more than {_MAX_BYTES:,} bytes; use save()")
            return Stored(path, suffix)
        if hasattr(value, "read"):
            content = value.read()
            name = f"x.{self.file_type}" if self.file_type else str(getattr(value, "name", ""))
            return Stored(content.encode() if isinstance(content, str) else bytes(content), self._suffix_of(name))
        raise ValueError(f"{type(self).__name__} takes a path or an open file, not {type(value).__name__}")

    def _suffix_of(self, name: str) -> str:
        found = next((one for one in self.FORMATS if name.lower().endswith(f".{one}")), None)
        if found is None:
            raise ValueError(f"{type(self).__name__} takes files of {', '.join(self.FORMATS)}, not {name!r}")
        return f".{found}"


class Object3D(StoredObject):
    """`svc.Object3D(points)`, `svc.Object3D("scene.glb")`: a file of the run, which the page offers for download.

    Points are an array of N x 3, 4 or 6 (position, category or color), or W&B's dictionary of a scene.
    """

    FORMATS = ("obj", "gltf", "glb", "babylon", "stl", "pts.json")

    @classmethod
    def from_file(cls, data_or_path: Any, file_type: str | None = None) -> Object3D:
        return cls(data_or_path, file_type=file_type)

    @classmethod
    def from_numpy(cls, data: Any) -> Object3D:
        return cls(data)

    @classmethod
    def from_point_cloud(
        cls, points: Any, boxes: Any = (), vectors: Any = None, point_cloud_type: str = "lidar/beta"
    ) -> Object3D:
        more = {} if vectors is None else {"vectors": vectors}
        return cls({"type": point_cloud_type, "points": points, "boxes": boxes, **more})

    def _stored_form(self) -> Stored:
        value = self.data
        if isinstance(value, Mapping):
            scene = {text_of(key): _listed(one) for key, one in value.items()}
            if scene.get("type") not in ("lidar/beta", None):
                raise ValueError("the type of a scene is 'lidar/beta'")
            return Stored(json.dumps(scene, allow_nan=False).encode(), ".pts.json")
        if hasattr(value, "tolist"):
            shape = tuple(value.shape)
            if len(shape) != 2 or shape[1] not in (3, 4, 6):
                raise ValueError(f"points are an array of N x 3, 4 or 6, not {' x '.join(map(str, shape))}")
            return Stored(json.dumps(value.tolist(), allow_nan=False).encode(), ".pts.json")
        return super()._stored_form()


class Molecule(StoredObject):
    """`svc.Molecule("protein.pdb")`: a file of the run, which the page offers for download."""

    FORMATS = ("pdb", "pqr", "mmcif", "mcif", "cif", "sdf", "sd", "gro", "mol2", "mmtf")

    @classmethod
    def from_smiles(cls, data: str, **more: Any) -> Molecule:
        """Needs RDKit; without it Error says so. Raises ValueError for a text that is not SMILES."""
        found = _rdkit("from_smiles").MolFromSmiles(data)
        if found is None:
            raise ValueError(f"{data!r} is not a molecule in SMILES")
        return cls.from_rdkit(found, **more)

    @classmethod
    def from_rdkit(
        cls,
        data_or_path: Any,
        caption: object = None,
        convert_to_3d_and_optimize: bool = True,
        mmff_optimize_molecule_max_iterations: int = 200,
        **_more: Any,
    ) -> Molecule:
        """Of a molecule of RDKit, which gets hydrogens and a shape as with W&B, or of a file."""
        import io

        if isinstance(data_or_path, (str, os.PathLike)):
            return cls(data_or_path, caption)
        chem = _rdkit("from_rdkit")
        if convert_to_3d_and_optimize:
            shapes = importlib.import_module("rdkit.Chem.AllChem")
            data_or_path = chem.AddHs(data_or_path)
            shapes.EmbedMolecule(data_or_path, randomSeed=0)
            shapes.MMFFOptimizeMolecule(data_or_path, maxIters=mmff_optimize_molecule_max_iterations)
        return cls(io.StringIO(chem.MolToPDBBlock(data_or_path)), caption, file_type="pdb")


def _rdkit(call: str) -> Any:
    try:
        return importlib.import_module("rdkit.Chem")
    except ImportError:
        from ..errors import Error

        raise Error(f"Molecule.{call} needs RDKit: pip install rdkit, or log a file, Molecule('x.pdb')") from None


def _listed(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_listed(one) for one in value]
    if isinstance(value, Mapping):
        return {text_of(key): _listed(one) for key, one in value.items()}
    return plain(value)
