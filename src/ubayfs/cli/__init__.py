"""The command line: ``ubayfs select study.yaml`` and its sisters."""
