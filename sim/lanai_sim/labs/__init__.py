"""Labs of two hours each: tasks, starting code, and grading by simulated cycles.

A lab is a folder of `tasks`: `task.toml` and, in `start`, the files that a student gets. The module
of `benches` with the folder's name runs a case on what the student has written.
"""
