"""The app: a study in a browser. `workbench` holds a study and its edits, `worker` computes, `library` lists studies.

Only `server`, `pages` and `view` know the browser; everything else works, and is tested, without it.
"""
