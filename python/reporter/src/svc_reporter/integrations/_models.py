"""`log_model` of the integrations: checkpoints and models become versions of an artifact of the run."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._run.artifact import Artifact
from ._training import Training

_WORDS = {"all": "all", "checkpoint": "all", "end": "end", "true": "end", "1": "end", "false": "", "0": "", "": ""}
_DEFAULT_JOBS = ("fit", "train", "boost")


class Models:
    """`log_model` as W&B has it: True keeps the model at the end, "all" every checkpoint as well.

    The artifact is `model-<run>`, or `model-<run>-<job>` for a job with a name of its own. Nothing raises.
    """

    def __init__(self, training: Training, wanted: bool | str | None) -> None:
        word = _WORDS.get(str(wanted or "").lower())
        if word is None:
            raise ValueError(f'log_model must be True, False or "all", got {wanted!r}')
        self._training = training
        self.at_end = word != ""
        self.every = word == "all"

    def keep(
        self, add: Callable[[Artifact, Path], None], *aliases: str, named: str | None = None, **metadata: Any
    ) -> None:
        """Keep what `add` puts into the artifact: files, or what it writes into the given folder and then adds."""
        run, job = self._training.run, self._training.job_id
        name = named or (f"model-{run.batch_id}" if job in _DEFAULT_JOBS else f"model-{run.batch_id}-{job}")
        try:
            known = {key: value for key, value in metadata.items() if value is not None}
            artifact = Artifact(re.sub(r"[^A-Za-z0-9._-]", "_", name)[:128], "model", metadata=known)
            add(artifact, artifact._own_folder())
            if artifact.entries:
                artifact.submit(run.files, run.project, aliases)
        except Exception as error:
            run.messages.log_once(
                logging.WARNING, f"model {name}", f"a model is not kept: {type(error).__name__}: {error}"
            )


def written(name: str, save: Callable[[str], Any]) -> Callable[[Artifact, Path], None]:
    """Of `keep`: one file that `save` writes."""

    def add(artifact: Artifact, folder: Path) -> None:
        save(str(folder / name))
        artifact.add_file(folder / name, policy="immutable")

    return add
