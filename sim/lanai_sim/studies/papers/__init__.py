"""Papers, one package each: `lanai paper NAME` runs a paper's experiments here and says how far its
claims hold.

A package `my_paper` here, or in `papers/` of a directory on LANAI_PATH, is the paper `my-paper` if
it holds `claims.toml` and a module `study` whose STUDY is a `studies.Study`; `studies.study` makes one of
the words in `claims.toml` and `page.toml`. Nothing else needs to be registered.
"""
