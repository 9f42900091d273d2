"""Reading back what was reported: batches, jobs and full metric histories, as records or data frames.

from svc_reporter.query import Api

api = Api()                                              # SVC_URL and SVC_TOKEN, or a token of scope `read`
runs = api.batches(project="vision", status="completed")
jobs = api.jobs_frame(project="vision")
loss = api.metrics_frame([run["id"] for run in runs], keys=["val_loss"], wide=True)
"""

from .._shared.errors import QueryError
from ._api import Api, Best
from ._follow import Message
from ._table import Table

__all__ = ["Api", "Best", "Message", "QueryError", "Table"]
