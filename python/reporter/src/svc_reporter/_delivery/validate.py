"""Generated from schemas/event_v1.json by scripts/generate_validator.py; do not edit.

`validate(event)` lists what is wrong with an event, as `path: what it must be`; empty when it is valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_MISSING: Any = object()
_P0 = re.compile('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\\s\\S])').search
_P1 = re.compile('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\\Z').search
_P2 = re.compile('^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?Z(?![\\s\\S])').search
_P3 = re.compile('^(?!\\.{1,2}(?![\\s\\S]))[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}(?![\\s\\S])').search
_P4 = re.compile('^(?![\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff])[^/\\u0000-\\u001f\\u007f-\\u009f]{1,128}(?<![\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff])(?![\\s\\S])').search
_P5 = re.compile('^[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}(?![\\s\\S])').search
_P6 = re.compile('^[\\s\\S]{1,32}(?![\\s\\S])').search


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _integer(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _at(path: str, key: str) -> str:
    return f'{path}.{key}' if path else key


def _field(
    value: Any, key: str, required: bool, check: Callable[..., None], path: str, problems: list[str]
) -> None:
    item = value.get(key, _MISSING)
    if item is not _MISSING:
        check(item, _at(path, key), problems)
    elif required:
        problems.append(_at(path, key) + ': is missing')


def _check_1(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str) and _P0(value) and _P1(value)):
        problems.append(f'{path}: must be string, uuid')


def _check_2(value: Any, path: str, problems: list[str]) -> None:
    if not (value == '1.1'):
        problems.append(f'{path}: must be "1.1"')


def _check_3(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str) and _P2(value)):
        problems.append(f'{path}: must be string, of the form that the schema gives')


def _check_4(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str) and _P3(value)):
        problems.append(f'{path}: must be string, of the form that the schema gives')


def _check_6(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str) and _P4(value)):
        problems.append(f'{path}: must be string, of the form that the schema gives')


def _check_7(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str)):
        problems.append(f'{path}: must be string')


def _check_5(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'project', True, _check_6, path, problems)
    _field(value, 'host', False, _check_7, path, problems)
    _field(value, 'user', False, _check_7, path, problems)
    _field(value, 'commit', False, _check_7, path, problems)
    _field(value, 'command', False, _check_7, path, problems)


def _check_8(value: Any, path: str, problems: list[str]) -> None:
    if not (value is None):
        problems.append(f'{path}: must be null')


def _check_9(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'batch_start'):
        problems.append(f'{path}: must be "batch_start"')


def _check_11(value: Any, path: str, problems: list[str]) -> None:
    if not (_integer(value) and value >= 0 and value <= 2147483647):
        problems.append(f'{path}: must be integer, >= 0, <= 2147483647')


def _check_10(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    if not (isinstance(value, dict) and (((not isinstance(value, dict) or ('n_total' in value))) or ((not isinstance(value, dict) or ('n_total_jobs' in value))))):
        problems.append(f"{path or 'event'}: must be present: n_total or present: n_total_jobs")
    _field(value, 'experiment_type', True, _check_7, path, problems)
    _field(value, 'n_total', False, _check_11, path, problems)
    _field(value, 'n_total_jobs', False, _check_11, path, problems)
    _field(value, 'command', False, _check_7, path, problems)


def _check_0(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', False, _check_8, path, problems)
    _field(value, 'event_type', True, _check_9, path, problems)
    _field(value, 'data', True, _check_10, path, problems)


def _check_13(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'batch_done'):
        problems.append(f'{path}: must be "batch_done"')


def _check_15(value: Any, path: str, problems: list[str]) -> None:
    if not (((_number(value)) or ((value == 'NaN' or value == 'Infinity' or value == '-Infinity')))):
        problems.append(f'{path}: must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_14(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'n_done', True, _check_11, path, problems)
    _field(value, 'n_failed', True, _check_11, path, problems)
    _field(value, 'total_elapsed_s', True, _check_15, path, problems)


def _check_12(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', False, _check_8, path, problems)
    _field(value, 'event_type', True, _check_13, path, problems)
    _field(value, 'data', True, _check_14, path, problems)


def _check_17(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'batch_failed'):
        problems.append(f'{path}: must be "batch_failed"')


def _check_18(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'reason', True, _check_7, path, problems)
    _field(value, 'total_elapsed_s', True, _check_15, path, problems)


def _check_16(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', False, _check_8, path, problems)
    _field(value, 'event_type', True, _check_17, path, problems)
    _field(value, 'data', True, _check_18, path, problems)


def _check_20(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str) and _P5(value)):
        problems.append(f'{path}: must be string, of the form that the schema gives')


def _check_21(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'job_start'):
        problems.append(f'{path}: must be "job_start"')


def _check_22(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'model', False, _check_7, path, problems)
    _field(value, 'dataset', False, _check_7, path, problems)


def _check_19(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', True, _check_20, path, problems)
    _field(value, 'event_type', True, _check_21, path, problems)
    _field(value, 'data', True, _check_22, path, problems)


def _check_24(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'job_epoch'):
        problems.append(f'{path}: must be "job_epoch"')


def _check_26(value: Any, path: str, problems: list[str]) -> None:
    if not (_integer(value) and value >= -9007199254740991 and value <= 9007199254740991):
        problems.append(f'{path}: must be integer, >= -9007199254740991, <= 9007199254740991')


def _check_25(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'epoch', True, _check_26, path, problems)
    _field(value, 'train_loss', False, _check_15, path, problems)
    _field(value, 'val_loss', False, _check_15, path, problems)
    _field(value, 'lr', False, _check_15, path, problems)
    _field(value, 'batch_time_ms', False, _check_15, path, problems)


def _check_23(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', True, _check_20, path, problems)
    _field(value, 'event_type', True, _check_24, path, problems)
    _field(value, 'data', True, _check_25, path, problems)


def _check_28(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'job_done'):
        problems.append(f'{path}: must be "job_done"')


def _check_30(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f'{path}: must be object')


def _check_29(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'metrics', False, _check_30, path, problems)
    _field(value, 'elapsed_s', False, _check_15, path, problems)
    _field(value, 'train_epochs', False, _check_15, path, problems)


def _check_27(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', True, _check_20, path, problems)
    _field(value, 'event_type', True, _check_28, path, problems)
    _field(value, 'data', True, _check_29, path, problems)


def _check_32(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'job_failed'):
        problems.append(f'{path}: must be "job_failed"')


def _check_33(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'reason', True, _check_7, path, problems)
    _field(value, 'elapsed_s', True, _check_15, path, problems)


def _check_31(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', True, _check_20, path, problems)
    _field(value, 'event_type', True, _check_32, path, problems)
    _field(value, 'data', True, _check_33, path, problems)


def _check_35(value: Any, path: str, problems: list[str]) -> None:
    if not (((isinstance(value, str) and _P5(value)) or (value is None))):
        problems.append(f'{path}: must be string, of the form that the schema gives or null')


def _check_36(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'resource_snapshot'):
        problems.append(f'{path}: must be "resource_snapshot"')


def _check_39(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'index', False, _check_26, path, problems)
    _field(value, 'uuid', False, _check_7, path, problems)
    _field(value, 'name', False, _check_7, path, problems)
    _field(value, 'util_pct', False, _check_15, path, problems)
    _field(value, 'mem_mb', False, _check_15, path, problems)
    _field(value, 'mem_total_mb', False, _check_15, path, problems)
    _field(value, 'temp_c', False, _check_15, path, problems)
    _field(value, 'power_w', False, _check_15, path, problems)


def _check_38(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, list)):
        problems.append(f"{path or 'event'}: must be array")
        return
    for at, item in enumerate(value):
        _check_39(item, f'{path}[{at}]', problems)


def _check_37(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'gpu_util_pct', False, _check_15, path, problems)
    _field(value, 'gpu_mem_mb', False, _check_15, path, problems)
    _field(value, 'cpu_util_pct', False, _check_15, path, problems)
    _field(value, 'cpu_pct', False, _check_15, path, problems)
    _field(value, 'ram_mb', False, _check_15, path, problems)
    _field(value, 'rss_mb', False, _check_15, path, problems)
    _field(value, 'disk_free_mb', False, _check_15, path, problems)
    _field(value, 'gpus', False, _check_38, path, problems)


def _check_34(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', False, _check_35, path, problems)
    _field(value, 'event_type', True, _check_36, path, problems)
    _field(value, 'data', True, _check_37, path, problems)


def _check_41(value: Any, path: str, problems: list[str]) -> None:
    if not (value == 'log_line'):
        problems.append(f'{path}: must be "log_line"')


def _check_43(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, str) and _P6(value)):
        problems.append(f'{path}: must be string, of the form that the schema gives')


def _check_42(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'line', True, _check_7, path, problems)
    _field(value, 'level', True, _check_43, path, problems)


def _check_40(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    _field(value, 'event_id', True, _check_1, path, problems)
    _field(value, 'schema_version', True, _check_2, path, problems)
    _field(value, 'timestamp', True, _check_3, path, problems)
    _field(value, 'batch_id', True, _check_4, path, problems)
    _field(value, 'source', True, _check_5, path, problems)
    _field(value, 'job_id', True, _check_20, path, problems)
    _field(value, 'event_type', True, _check_41, path, problems)
    _field(value, 'data', True, _check_42, path, problems)


_EVENTS = {
    'batch_start': _check_0,
    'batch_done': _check_12,
    'batch_failed': _check_16,
    'job_start': _check_19,
    'job_epoch': _check_23,
    'job_done': _check_27,
    'job_failed': _check_31,
    'resource_snapshot': _check_34,
    'log_line': _check_40,
}
EVENT_TYPES = ('batch_start', 'batch_done', 'batch_failed', 'job_start', 'job_epoch', 'job_done', 'job_failed', 'resource_snapshot', 'log_line')


def validate(event: Any) -> list[str]:
    if not isinstance(event, dict):
        return ['event: must be object']
    kind = event.get('event_type')
    check = _EVENTS.get(kind) if isinstance(kind, str) else None
    if check is None:
        return ['event_type: must be one of ' + ', '.join(EVENT_TYPES)]
    problems: list[str] = []
    check(event, '', problems)
    return problems
