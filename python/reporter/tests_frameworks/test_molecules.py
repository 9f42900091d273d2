"""Molecules of RDKit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.kit.real_server import RealServer

import svc_reporter as svc


def test_a_molecule_of_smiles_is_read_back_with_its_atoms_and_a_shape(
    service: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    monkeypatch.setenv("SVC_REPORTER_DIR", str(tmp_path / "spill"))
    with svc.init(project="molecules", url=service.url, token=service.token, quiet=True, console=False) as run:
        run.log({"ethanol": svc.Molecule.from_smiles("CCO", caption="ethanol")}, step=1)
        run.log({"flat": svc.Molecule.from_rdkit(chem.MolFromSmiles("C"), convert_to_3d_and_optimize=False)}, step=2)
        with pytest.raises(ValueError, match="not a molecule"):
            svc.Molecule.from_smiles("not SMILES")
    assert "rdkit.Chem.AllChem" in sys.modules
    files = {one.name: one for one in svc.Api(service.url, service.session).run(run.id).files()}
    assert sorted(name for name in files if not name.startswith(".svc/")) == [
        "objects/ethanol/1.pdb",
        "objects/flat/2.pdb",
    ]
    with files["objects/ethanol/1.pdb"].download(tmp_path) as file:
        found = chem.MolFromPDBBlock(file.read(), removeHs=False)
    assert sorted(atom.GetSymbol() for atom in found.GetAtoms()) == ["C", "C", *"HHHHHH", "O"]
    places = found.GetConformer().GetPositions()
    assert all(places[:, axis].max() - places[:, axis].min() > 0.5 for axis in range(3))
