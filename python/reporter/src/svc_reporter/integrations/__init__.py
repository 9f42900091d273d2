"""One small module per training library; each imports its library, so import only the one you use.

huggingface  SvcCallback   Trainer(callbacks=[...])
lightning    SvcCallback   Trainer(callbacks=[...])
             SvcLogger     Trainer(logger=...)
keras        SvcCallback   model.fit(callbacks=[...])
xgboost      SvcCallback   xgboost.train(callbacks=[...]), XGBClassifier(callbacks=[...])
lightgbm     SvcCallback   lightgbm.train(callbacks=[...]), LGBMClassifier.fit(callbacks=[...])
sklearn      reporting     with reporting(run): GridSearchCV(...).fit(...), cross_validate(...)
optuna       SvcCallback   study.optimize(callbacks=[...])
accelerate   SvcTracker    Accelerator(log_with=...)
hydra        SvcCallback   hydra.callbacks

Callbacks take `run` (an open Reporter), or `project=` and further arguments of a Reporter of their own; and
`job_id`. When a user presses stop, training ends the way the library ends it early, so that checkpoints
are still written; the batch then ends as stopped. A training that raised is failed, also when the script caught
the exception: "ended without its end" if the library hides it.
"""
