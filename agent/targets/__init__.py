"""Where targets come from: the configuration, files, Kubernetes, the processes of this machine."""
