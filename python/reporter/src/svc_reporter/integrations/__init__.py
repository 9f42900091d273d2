"""One small module per training library; each imports its library, so import only the one you use.

huggingface  SvcCallback   Trainer(callbacks=[...])
lightning    SvcCallback   Trainer(callbacks=[...])
keras        SvcCallback   model.fit(callbacks=[...])
xgboost      SvcCallback   xgboost.train(callbacks=[...]), XGBClassifier(callbacks=[...])
lightgbm     SvcCallback   lightgbm.train(callbacks=[...]), LGBMClassifier.fit(callbacks=[...])

All take `run` (an open Reporter), or `project=` and further arguments of a Reporter of their own; and
`job_id`. When somebody presses stop, training ends the way the library ends it early, so that checkpoints
are still written; the batch then ends as stopped.
"""
