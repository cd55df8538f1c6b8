"""Programs that the experiments run under `lanai run`. Each prints lines "name value"."""
