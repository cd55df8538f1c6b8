"""Papers and what they claim: `lanai paper NAME` runs a paper's experiments here and says how far its claims hold."""
