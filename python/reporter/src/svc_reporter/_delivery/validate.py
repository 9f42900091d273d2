"""Generated from schemas/event_v1.json by scripts/generate_validator.py; do not edit.

`validate(event)` lists what is wrong with an event, as `path: what it must be`; empty when it is valid.
"""

from __future__ import annotations

import re
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


def _check_1(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('project', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'project') + ': is missing')
    elif not (isinstance(item, str) and _P4(item)):
        problems.append(_at(path, 'project') + ': must be string, of the form that the schema gives')
    item = value.get('host', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'host') + ': must be string')
    item = value.get('user', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'user') + ': must be string')
    item = value.get('commit', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'commit') + ': must be string')
    item = value.get('command', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'command') + ': must be string')


def _check_2(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    if not (isinstance(value, dict) and (((not isinstance(value, dict) or ('n_total' in value))) or ((not isinstance(value, dict) or ('n_total_jobs' in value))))):
        problems.append(f"{path or 'event'}: must be present: n_total or present: n_total_jobs")
    item = value.get('experiment_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'experiment_type') + ': is missing')
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'experiment_type') + ': must be string')
    item = value.get('n_total', _MISSING)
    if item is _MISSING:
        pass
    elif not (_integer(item) and item >= 0 and item <= 2147483647):
        problems.append(_at(path, 'n_total') + ': must be integer, >= 0, <= 2147483647')
    item = value.get('n_total_jobs', _MISSING)
    if item is _MISSING:
        pass
    elif not (_integer(item) and item >= 0 and item <= 2147483647):
        problems.append(_at(path, 'n_total_jobs') + ': must be integer, >= 0, <= 2147483647')
    item = value.get('command', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'command') + ': must be string')


def _check_0(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        pass
    elif not (item is None):
        problems.append(_at(path, 'job_id') + ': must be null')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'batch_start'):
        problems.append(_at(path, 'event_type') + ': must be "batch_start"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_2(item, _at(path, 'data'), problems)


def _check_4(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('n_done', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'n_done') + ': is missing')
    elif not (_integer(item) and item >= 0 and item <= 2147483647):
        problems.append(_at(path, 'n_done') + ': must be integer, >= 0, <= 2147483647')
    item = value.get('n_failed', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'n_failed') + ': is missing')
    elif not (_integer(item) and item >= 0 and item <= 2147483647):
        problems.append(_at(path, 'n_failed') + ': must be integer, >= 0, <= 2147483647')
    item = value.get('total_elapsed_s', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'total_elapsed_s') + ': is missing')
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'total_elapsed_s') + ': must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_3(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        pass
    elif not (item is None):
        problems.append(_at(path, 'job_id') + ': must be null')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'batch_done'):
        problems.append(_at(path, 'event_type') + ': must be "batch_done"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_4(item, _at(path, 'data'), problems)


def _check_6(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('reason', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'reason') + ': is missing')
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'reason') + ': must be string')
    item = value.get('total_elapsed_s', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'total_elapsed_s') + ': is missing')
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'total_elapsed_s') + ': must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_5(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        pass
    elif not (item is None):
        problems.append(_at(path, 'job_id') + ': must be null')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'batch_failed'):
        problems.append(_at(path, 'event_type') + ': must be "batch_failed"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_6(item, _at(path, 'data'), problems)


def _check_8(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('model', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'model') + ': must be string')
    item = value.get('dataset', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'dataset') + ': must be string')


def _check_7(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'job_id') + ': is missing')
    elif not (isinstance(item, str) and _P5(item)):
        problems.append(_at(path, 'job_id') + ': must be string, of the form that the schema gives')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'job_start'):
        problems.append(_at(path, 'event_type') + ': must be "job_start"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_8(item, _at(path, 'data'), problems)


def _check_10(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('epoch', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'epoch') + ': is missing')
    elif not (_integer(item) and item >= -9007199254740991 and item <= 9007199254740991):
        problems.append(_at(path, 'epoch') + ': must be integer, >= -9007199254740991, <= 9007199254740991')
    item = value.get('train_loss', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'train_loss') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('val_loss', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'val_loss') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('lr', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'lr') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('batch_time_ms', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'batch_time_ms') + ': must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_9(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'job_id') + ': is missing')
    elif not (isinstance(item, str) and _P5(item)):
        problems.append(_at(path, 'job_id') + ': must be string, of the form that the schema gives')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'job_epoch'):
        problems.append(_at(path, 'event_type') + ': must be "job_epoch"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_10(item, _at(path, 'data'), problems)


def _check_12(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('metrics', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, dict)):
        problems.append(_at(path, 'metrics') + ': must be object')
    item = value.get('elapsed_s', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'elapsed_s') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('train_epochs', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'train_epochs') + ': must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_11(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'job_id') + ': is missing')
    elif not (isinstance(item, str) and _P5(item)):
        problems.append(_at(path, 'job_id') + ': must be string, of the form that the schema gives')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'job_done'):
        problems.append(_at(path, 'event_type') + ': must be "job_done"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_12(item, _at(path, 'data'), problems)


def _check_14(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('reason', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'reason') + ': is missing')
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'reason') + ': must be string')
    item = value.get('elapsed_s', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'elapsed_s') + ': is missing')
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'elapsed_s') + ': must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_13(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'job_id') + ': is missing')
    elif not (isinstance(item, str) and _P5(item)):
        problems.append(_at(path, 'job_id') + ': must be string, of the form that the schema gives')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'job_failed'):
        problems.append(_at(path, 'event_type') + ': must be "job_failed"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_14(item, _at(path, 'data'), problems)


def _check_18(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('index', _MISSING)
    if item is _MISSING:
        pass
    elif not (_integer(item) and item >= -9007199254740991 and item <= 9007199254740991):
        problems.append(_at(path, 'index') + ': must be integer, >= -9007199254740991, <= 9007199254740991')
    item = value.get('uuid', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'uuid') + ': must be string')
    item = value.get('name', _MISSING)
    if item is _MISSING:
        pass
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'name') + ': must be string')
    item = value.get('util_pct', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'util_pct') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('mem_mb', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'mem_mb') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('mem_total_mb', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'mem_total_mb') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('temp_c', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'temp_c') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('power_w', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'power_w') + ': must be number or one of "NaN", "Infinity", "-Infinity"')


def _check_17(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, list)):
        problems.append(f"{path or 'event'}: must be array")
        return
    for at, item in enumerate(value):
        _check_18(item, f'{path}[{at}]', problems)


def _check_16(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('gpu_util_pct', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'gpu_util_pct') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('gpu_mem_mb', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'gpu_mem_mb') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('cpu_util_pct', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'cpu_util_pct') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('cpu_pct', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'cpu_pct') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('ram_mb', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'ram_mb') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('rss_mb', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'rss_mb') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('disk_free_mb', _MISSING)
    if item is _MISSING:
        pass
    elif not (((_number(item)) or ((item == 'NaN' or item == 'Infinity' or item == '-Infinity')))):
        problems.append(_at(path, 'disk_free_mb') + ': must be number or one of "NaN", "Infinity", "-Infinity"')
    item = value.get('gpus', _MISSING)
    if item is _MISSING:
        pass
    else:
        _check_17(item, _at(path, 'gpus'), problems)


def _check_15(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        pass
    elif not (((isinstance(item, str) and _P5(item)) or (item is None))):
        problems.append(_at(path, 'job_id') + ': must be string, of the form that the schema gives or null')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'resource_snapshot'):
        problems.append(_at(path, 'event_type') + ': must be "resource_snapshot"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_16(item, _at(path, 'data'), problems)


def _check_20(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('line', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'line') + ': is missing')
    elif not (isinstance(item, str)):
        problems.append(_at(path, 'line') + ': must be string')
    item = value.get('level', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'level') + ': is missing')
    elif not (isinstance(item, str) and _P6(item)):
        problems.append(_at(path, 'level') + ': must be string, of the form that the schema gives')


def _check_19(value: Any, path: str, problems: list[str]) -> None:
    if not (isinstance(value, dict)):
        problems.append(f"{path or 'event'}: must be object")
        return
    item = value.get('event_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_id') + ': is missing')
    elif not (isinstance(item, str) and _P0(item) and _P1(item)):
        problems.append(_at(path, 'event_id') + ': must be string, uuid')
    item = value.get('schema_version', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'schema_version') + ': is missing')
    elif not (item == '1.1'):
        problems.append(_at(path, 'schema_version') + ': must be "1.1"')
    item = value.get('timestamp', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'timestamp') + ': is missing')
    elif not (isinstance(item, str) and _P2(item)):
        problems.append(_at(path, 'timestamp') + ': must be string, of the form that the schema gives')
    item = value.get('batch_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'batch_id') + ': is missing')
    elif not (isinstance(item, str) and _P3(item)):
        problems.append(_at(path, 'batch_id') + ': must be string, of the form that the schema gives')
    item = value.get('source', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'source') + ': is missing')
    else:
        _check_1(item, _at(path, 'source'), problems)
    item = value.get('job_id', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'job_id') + ': is missing')
    elif not (isinstance(item, str) and _P5(item)):
        problems.append(_at(path, 'job_id') + ': must be string, of the form that the schema gives')
    item = value.get('event_type', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'event_type') + ': is missing')
    elif not (item == 'log_line'):
        problems.append(_at(path, 'event_type') + ': must be "log_line"')
    item = value.get('data', _MISSING)
    if item is _MISSING:
        problems.append(_at(path, 'data') + ': is missing')
    else:
        _check_20(item, _at(path, 'data'), problems)


_EVENTS = {
    'batch_start': _check_0,
    'batch_done': _check_3,
    'batch_failed': _check_5,
    'job_start': _check_7,
    'job_epoch': _check_9,
    'job_done': _check_11,
    'job_failed': _check_13,
    'resource_snapshot': _check_15,
    'log_line': _check_19,
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
