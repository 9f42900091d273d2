"""`svc.patch_tensorboard()`: what a `SummaryWriter` gets also goes to the current run."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from typing import Any

from .._shared.errors import StopRequested
from .._shared.messages import logger
from .._shared.signals import raise_if_by_signal
from .run import current_run

_MODULES = ("torch.utils.tensorboard.writer", "tensorboardX.writer")
_MARK = "_svc_original"


def patch_tensorboard() -> Callable[[], None]:
    """Let every `SummaryWriter` of torch and tensorboardX also log to the run that `init` started last.

    Scalars, texts, images, figures, histograms, audio and hparams are taken. Call it before or after the writer is
    made; without a run nothing is taken. Returns a function that undoes it. Never raises.
    """
    classes: list[Any] = []
    for name in _MODULES:
        try:
            classes.append(importlib.import_module(name).SummaryWriter)
        except (ImportError, AttributeError):
            continue
    if not classes:
        logger.log(logging.WARNING, "patch_tensorboard: neither torch with tensorboard nor tensorboardX is installed")
    for writer in classes:
        for method, take in _TAKEN.items():
            original = getattr(writer, method, None)
            if original is not None and not hasattr(original, _MARK):
                setattr(writer, method, _tapped(original, take))
    return lambda: _undo(classes)


def _undo(classes: list[Any]) -> None:
    for writer in classes:
        for method in _TAKEN:
            original = getattr(getattr(writer, method, None), _MARK, None)
            if original is not None:
                setattr(writer, method, original)


Take = Callable[..., dict[str, Any] | None]


def _tapped(original: Any, take: Take) -> Any:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **more: Any) -> Any:
        made = original(self, *args, **more)
        run = current_run()
        if run is not None:
            try:
                values = take(*args, **more)
                if values:
                    step = more.get("global_step", _step_in(original, args))
                    run.log(values, step=step)
            except StopRequested:
                raise
            except Exception as error:
                raise_if_by_signal(error)
                text = f"a call of {original.__name__} was not taken: {type(error).__name__}: {error}"
                run.reporter.messages.log_once(logging.WARNING, f"tensorboard {original.__name__}", text)
        return made

    setattr(method, _MARK, original)
    return method


def _step_in(original: Any, args: tuple[Any, ...]) -> Any:
    names = original.__code__.co_varnames[1 : original.__code__.co_argcount]
    at = names.index("global_step") if "global_step" in names else len(args)
    return args[at] if at < len(args) else None


def _scalar(tag: str, scalar_value: Any, *_args: Any, **_more: Any) -> dict[str, Any]:
    return {tag: scalar_value}


def _scalars(main_tag: str, tag_scalar_dict: dict[str, Any], *_args: Any, **_more: Any) -> dict[str, Any]:
    return {f"{main_tag}/{name}": value for name, value in tag_scalar_dict.items()}


def _text(tag: str, text_string: str, *_args: Any, **_more: Any) -> dict[str, Any]:
    from .._capture.media import Text

    return {tag: Text(text_string)}


def _image(tag: str, img_tensor: Any, *_args: Any, dataformats: str = "CHW", **_more: Any) -> dict[str, Any]:
    from .._capture.media import Image

    if dataformats not in ("CHW", "HWC", "HW", "NCHW"):
        raise ValueError(f"images as {dataformats} are not taken")
    return {tag: Image(img_tensor)}


def _images(tag: str, img_tensor: Any, *_args: Any, dataformats: str = "NCHW", **_more: Any) -> dict[str, Any]:
    from .._capture.media import Image

    return {tag: [Image(one) for one in img_tensor]} if dataformats in ("NCHW", "NHWC") else {}


def _figure(tag: str, figure: Any, *_args: Any, **_more: Any) -> dict[str, Any]:
    from .._capture.media import Image

    figures = figure if isinstance(figure, list) else [figure]
    return {tag: [Image(one) for one in figures]}


def _histogram(tag: str, values: Any, *_args: Any, **_more: Any) -> dict[str, Any]:
    from .._capture.media import Histogram

    return {tag: Histogram(values)}


def _audio(tag: str, snd_tensor: Any, *_args: Any, sample_rate: int = 44_100, **_more: Any) -> dict[str, Any]:
    from .._capture.media import Audio

    return {tag: Audio(snd_tensor, sample_rate)}


def _hparams(hparam_dict: dict[str, Any], metric_dict: dict[str, Any], *_args: Any, **_more: Any) -> None:
    run = current_run()
    if run is not None:
        run.config.update(hparam_dict)
        for name, value in metric_dict.items():
            run.summary[name] = value


_TAKEN: dict[str, Take] = {
    "add_scalar": _scalar,
    "add_scalars": _scalars,
    "add_text": _text,
    "add_image": _image,
    "add_images": _images,
    "add_figure": _figure,
    "add_histogram": _histogram,
    "add_audio": _audio,
    "add_hparams": _hparams,
}
